import { describe, expect, it } from "@jest/globals";
import { checkManifest } from "../../src/manifest/check.ts";

// What each rule takes and refuses, and where, is in agreement.test.ts: here is what the check says of it.

describe("the manifest", () => {
  it.each([
    ["/addons/0/plan", { addons: [{ as: "DB" }] }],
    ["/buildpacks/0/url", { buildpacks: [{}] }],
    ["/scripts/postdeploy/command", { scripts: { postdeploy: { size: "small" } } }],
    ["/environments/review/scripts/pr-predestroy/command", inReview({ scripts: { "pr-predestroy": {} } })],
  ])("requires %s", (pointer, manifest) => {
    const { faults } = checkManifest(manifest);
    expect(faults).toContainEqual({
      pointer,
      severity: "error",
      message: expect.stringMatching(/^Missing: /),
    });
  });

  it("allows each attachment name once, ignoring case", () => {
    const named = (...names: string[]) => ({ addons: names.map((as) => ({ plan: "redis", as })) });
    expect(errorsOf(named("ONE", "TWO", "", ""))).toEqual([]);
    expect(errorsOf(named("ONE", "TWO", "one", "ONE"))).toEqual(["/addons/2/as", "/addons/3/as"]);
  });

  it.each([[[]], ["app"], [null], [5], [undefined]])("refuses a value that is not an object: %j", (value) => {
    expect(errorsOf(value)).toEqual([""]);
  });

  it("requires no key at the top level", () => {
    expect(checkManifest({})).toEqual({ ok: true, faults: [], manifest: {} });
    const empty = { env: {}, formation: {}, addons: [], buildpacks: [], scripts: {}, environments: {} };
    expect(checkManifest(empty).faults).toEqual([]);
  });
});

describe("the message of an error", () => {
  it.each([
    ["a number where a string belongs", { env: { PORT: { value: 5000 } } }, "put it in quotes"],
    ["a boolean as a config var", { env: { DEBUG: true } }, "put it in quotes"],
    ['"true"', { env: { PORT: { required: "true" } } }, "without quotes"],
    ["a quantity in quotes", { formation: { web: { quantity: "1" } } }, "without quotes"],
    ["null", { website: null }, "leave it out"],
    ["an object where a list belongs", { addons: {} }, "an array in [ ], not an object"],
    ["a config var without a name", { env: { "": "x" } }, "rename it"],
    ["a success_url that leads nowhere", { success_url: "welcome" }, "begins with /"],
    ["a command that is empty", { scripts: { postdeploy: " " } }, "give a command, or leave it out"],
    ["an attachment's empty name", { addons: [{ plan: "a", as: "" }] }, "leave it out"],
  ])("says how to fix %s", (_, manifest, advice) => {
    expect(checkManifest(manifest).faults.map(({ message }) => message)).toEqual([
      expect.stringContaining(advice),
    ]);
  });

  it("never contains the value of a variable", () => {
    const env = { KEY: { value: 8675309, generator: "s3cret-in-the-wrong-place" }, OTHER: ["8675309"] };
    expect(JSON.stringify(checkManifest({ env }).faults)).not.toMatch(/8675309|s3cret/);
  });
});

function errorsOf(manifest: unknown): string[] {
  return checkManifest(manifest)
    .faults.filter(({ severity }) => severity === "error")
    .map(({ pointer }) => pointer);
}

function inReview(manifest: object) {
  return { environments: { review: manifest } };
}
