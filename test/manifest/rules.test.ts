import { describe, expect, it } from "@jest/globals";
import { checkManifest } from "../../src/manifest/check.ts";

// Every key of the platform document's tables ("App manifest"), with each type it must not have.

const oneOfEachType = { string: "text", number: 5, boolean: true, null: null, array: [], object: {} };
type TypeName = keyof typeof oneOfEachType;

const types: Record<string, TypeName[]> = {
  "/name": ["string"],
  "/description": ["string"],
  "/keywords": ["array"],
  "/keywords/0": ["string"],
  "/website": ["string"],
  "/repository": ["string"],
  "/logo": ["string"],
  "/success_url": ["string"],
  "/stack": ["string"],
  "/image": ["string"],
  "/env": ["object"],
  "/env/PORT": ["string", "object"],
  "/env/PORT/description": ["string"],
  "/env/PORT/value": ["string"],
  "/env/PORT/required": ["boolean"],
  "/env/PORT/generator": ["string"],
  "/formation": ["object"],
  "/formation/web": ["object"],
  "/formation/web/quantity": ["number"],
  "/formation/web/size": ["string"],
  "/addons": ["array"],
  "/addons/0": ["string", "object"],
  "/addons/0/plan": ["string"],
  "/addons/0/as": ["string"],
  "/addons/0/options": ["object"],
  "/buildpacks": ["array"],
  "/buildpacks/0": ["object"],
  "/buildpacks/0/url": ["string"],
  "/scripts": ["object"],
  "/scripts/postdeploy": ["string", "object"],
  "/scripts/postdeploy/command": ["string"],
  "/scripts/postdeploy/size": ["string"],
  "/scripts/pr-predestroy": ["string", "object"],
  "/scripts/pr-predestroy/command": ["string"],
  "/scripts/pr-predestroy/size": ["string"],
  "/environments": ["object"],
  "/environments/test": ["object"],
  "/environments/review": ["object"],
};

const wrong = Object.entries(types).flatMap(([pointer, right]) =>
  Object.keys(oneOfEachType)
    .filter((type) => !right.includes(type as TypeName))
    .map((type) => [pointer, type] as const),
);
/** The same keys inside an environment. */
const everywhere = [
  ...wrong,
  ...wrong
    .filter(([pointer]) => !pointer.startsWith("/environments"))
    .map(([pointer, type]) => [`/environments/review${pointer}`, type] as const),
];

describe("a manifest with one value of a wrong type", () => {
  it.each(everywhere)("has one error, at %s, for %s", (pointer, type) => {
    const { ok, faults } = checkManifest(manifestWith(pointer, oneOfEachType[type as TypeName]));
    const errors = faults.filter(({ severity }) => severity === "error");
    expect(ok).toBe(false);
    expect(errors).toEqual([{ pointer, severity: "error", message: expect.any(String) }]);
    expect(errors[0]!.message).not.toMatch(/invalid|expected|undefined/i);
  });
});

describe("each rule of the manifest", () => {
  const table: [name: string, pointer: string, good: readonly unknown[], bad: readonly unknown[]][] = [
    ["a name has at most 30 characters", "/name", ["a".repeat(30), "é😀".repeat(15)], ["a".repeat(31)]],
    ["secret is the only generator", "/env/KEY/generator", ["secret"], ["uuid", "Secret", ""]],
    ["a quantity is a whole number from 0", "/formation/web/quantity", [0, 1, 3.0], [-1, 1.5, Infinity, "1"]],
    [
      "an add-on is addon or addon:plan",
      "/addons/0",
      ["postgresql", "postgresql:basic", "postgresql:basic --version=17", "postgresql --version 17"],
      ["", ":basic", "postgresql:", "a:b:c", "a b", " a", "a ", "a --"],
    ],
    ["so is an add-on's plan", "/addons/0/plan", ["redis", "redis:mini"], ["", "redis:", ":mini", "a:b:c"]],
    ["a buildpack says where it is", "/buildpacks/0/url", ["node", "https://example.com/b.git"], ["", " "]],
    ["the only environments are test and review", "/environments/production", [], [{}]],
    ["a config var has a name", "/env/", [], ["x", { value: "x" }]],
    ["no name of a config var holds =", "/env/A=B", [], ["x", {}]],
  ];

  it.each(table)("%s (%s)", (_, pointer, good, bad) => {
    for (const value of good) expect(errorsOf(manifestWith(pointer, value))).toEqual([]);
    for (const value of bad) expect(errorsOf(manifestWith(pointer, value))).toEqual([pointer]);
  });

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

/** A manifest that is valid except for the value at one place, with all required members. */
function manifestWith(pointer: string, value: unknown): unknown {
  const beside: Record<string, object> = {
    as: { plan: "redis" },
    options: { plan: "redis" },
    size: { command: "run" },
  };
  return pointer
    .split("/")
    .slice(1)
    .reduceRight((inner, step) => {
      if (/^\d$/.test(step)) return [inner];
      const others = step === "size" && pointer.includes("/formation/") ? {} : beside[step];
      return { ...others, [step]: inner };
    }, value);
}
