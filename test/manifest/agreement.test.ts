import { readManifest } from "../../packages/sandbox/manifest/manifest.ts";
import { checkManifest } from "../../src/manifest/check.ts";

// The kit's check and the sandbox implement one section of the platform document ("App manifest") independently. What
// one accepts the other must accept, and what is wrong must be wrong for both, at the same place.

const long = "n".repeat(31);

const accepted: [what: string, manifest: object][] = [
  ["nothing at all", {}],
  ["a name of 30 characters, each of two units", { name: "😀".repeat(30) }],
  ["every string empty", { name: "", description: "", website: "", repository: "", logo: "", stack: "" }],
  ["addresses that are none", { website: "soon", repository: "soon", logo: "logo.gif" }],
  ["a full success_url", { success_url: "https://example.com/start" }],
  ["a success_url of another scheme", { success_url: "app://start" }],
  ["a success_url in the new app", { success_url: "/welcome?x=1" }],
  ["a success_url without its /", { success_url: "welcome" }],
  ["a success_url that is a note", { success_url: "#TODO" }],
  ["a success_url of a scheme alone", { success_url: "https://" }],
  ["a config var's object, whole and empty", { env: { A: whole("secret"), B: {} } }],
  ["a config var's unknown member", { env: { A: { default: 5 } } }],
  ["config vars of strange names", { env: { "A B": "x", "1A": "x", "a.b": { value: "x" }, "é/~": "x" } }],
  ["config vars with the names of what objects inherit", { env: { constructor: "x", toString: "x" } }],
  ["a process, whole and empty", { formation: { web: { quantity: 2, size: "small" }, worker: {} } }],
  ["a process type of any name", { formation: { "": { quantity: 1 }, "a b": {} } }],
  ["add-ons as strings", { addons: ["redis", "postgresql:mini"] }],
  ["flags behind a string", { addons: ["a:b --version=1", "a --version=1 --fast"] }],
  ["flags whose values stand apart", { addons: ["a:b --version 17"] }],
  ["an add-on's object, whole", { addons: [{ plan: "a:b", as: "DB", options: { v: "1", fast: true } }] }],
  ["options of other types", { addons: [{ plan: "a", options: { size: 2, list: [], none: null } }] }],
  ["attachments without a name, twice", { addons: [as("a", ""), as("b", "")] }],
  ["attachments whose names need mending", { addons: [as("a", "a b"), as("a", "a_b"), as("a", "1é")] }],
  ["the same add-on twice", { addons: ["a", "a", { plan: "a" }] }],
  ["a buildpack", { buildpacks: [{ url: "node" }, { url: "https://example.com/b.git" }] }],
  ["empty members", { keywords: [], env: {}, formation: {}, addons: [], buildpacks: [], scripts: {} }],
  ["scripts in both forms", { scripts: { postdeploy: "x", "pr-predestroy": { command: "y", size: "s" } } }],
  ["empty commands", { scripts: { postdeploy: "", "pr-predestroy": { command: " " } } }],
  ["scripts nobody knows", { scripts: { release: 5 } }],
  ["keys nobody knows", { engines: 5, succes_url: null }],
  ["a key that every object inherits", JSON.parse('{ "__proto__": 5 }') as object],
  ["an address of the schema", { $schema: "./app.schema.json" }],
  ["anything for the schema", { $schema: 5 }],
];

const acceptedAtTheTop: [what: string, manifest: object][] = [
  ["no environments", { environments: {} }],
  ["environments of an environment", { environments: { test: { environments: { test: {} } } } }],
  ["whatever is in those", { environments: { test: { environments: { production: 5 } }, review: {} } }],
  ["anything for those", { environments: { review: { environments: 5 } } }],
];

const refused: [pointer: string, manifest: object][] = [
  ["/name", { name: long }],
  ["/keywords/1", { keywords: ["bot", 5] }],
  ["/env", { env: [] }],
  ["/env/A", { env: { A: 5 } }],
  ["/env/A/required", { env: { A: { required: "true" } } }],
  ["/env/A/generator", { env: { A: whole("uuid") } }],
  ["/env/", { env: { "": "x" } }],
  ["/env/A=B", { env: { "A=B": { value: "x" } } }],
  ["/env/A\0", { env: { "A\0": "x" } }],
  ["/env/a~1b~0c", { env: { "a/b~c": true } }],
  ["/formation", { formation: [{ process: "web" }] }],
  ["/formation/web/quantity", { formation: { web: { quantity: -1 } } }],
  ["/formation/web/quantity", { formation: { web: { quantity: 1.5 } } }],
  ["/formation/web/quantity", { formation: { web: { quantity: 1e20 } } }],
  ["/addons", { addons: { plan: "a" } }],
  ["/addons/1", { addons: ["a", null] }],
  ["/addons/0", { addons: ["a:"] }],
  ["/addons/0", { addons: ["a:b:c"] }],
  ["/addons/0", { addons: ["a b"] }],
  ["/addons/0", { addons: [" a"] }],
  ["/addons/0/plan", { addons: [{ as: "A" }] }],
  ["/addons/0/plan", { addons: [{ plan: "a b" }] }],
  ["/addons/1/as", { addons: [as("a", "DB"), as("b", "db")] }],
  ["/addons/2/as", { addons: [as("a", "DB"), "c", as("b", " DB ")] }],
  ["/buildpacks", { buildpacks: { url: "node" } }],
  ["/buildpacks/0", { buildpacks: ["node"] }],
  ["/buildpacks/0/url", { buildpacks: [{ url: " " }] }],
  ["/scripts/postdeploy", { scripts: { postdeploy: ["x"] } }],
  ["/scripts/postdeploy/command", { scripts: { postdeploy: { size: "s" } } }],
  ["/scripts/pr-predestroy/command", { scripts: { "pr-predestroy": { command: null } } }],
];

const refusedAtTheTop: [pointer: string, manifest: unknown][] = [
  ["", []],
  ["", null],
  ["", "app"],
  ["/environments", { environments: [] }],
  ["/environments/production", { environments: { production: {} } }],
  ["/environments/__proto__", JSON.parse('{ "environments": { "__proto__": {} } }')],
];

describe("kit manifest check and the sandbox", () => {
  it.each([...accepted, ...accepted.map(inReview), ...acceptedAtTheTop])("both accept %s", (_, manifest) => {
    expect(readings(manifest)).toEqual({ kit: [], sandbox: undefined });
  });

  it.each([...refused, ...refused.map(pointedInReview), ...refusedAtTheTop])(
    "both refuse, at %j: %j",
    (pointer, manifest) => {
      const { kit, sandbox } = readings(manifest);
      expect(kit).toContain(pointer);
      expect(sandbox).toContain(` ${pointer || "It"} `);
    },
  );

  it("report the same places of a manifest with many faults", () => {
    const manifest = { name: long, env: { A: 1, "": "x" }, addons: ["a b", {}], scripts: { postdeploy: {} } };
    const { kit, sandbox } = readings(manifest);
    expect(kit).toHaveLength(6);
    for (const pointer of kit) expect(sandbox).toContain(` ${pointer} `);
  });
});

const odd = [
  ...["", " ", "a", "a:b", "a=b", "/", "secret"],
  ...[0, -0, 1, 2 ** 53, -1, 0.5, true, false, null],
];
const nested = [
  ...[[], [[]], [""], ["a"], [null], {}],
  ...[{ a: "b" }, { a: {} }, { "": null }, { plan: "a" }, { url: "a" }],
];
const values: unknown[] = [...odd, ...nested, { command: "" }, { test: {} }, { review: { name: 1 } }];

const keys = "name description keywords website repository logo success_url stack image env formation addons";
const places = [
  ...`${keys} buildpacks scripts environments $schema unknown`.split(" "),
  ...["env/A", "env/A/description", "env/A/value", "env/A/required", "env/A/generator"],
  ...["formation/web", "formation/web/quantity", "formation/web/size", "keywords/0", "addons/0"],
  ...["addons/0/as", "addons/0/plan", "addons/0/options", "addons/0/options/a", "buildpacks/0"],
  ...["scripts/postdeploy", "scripts/postdeploy/command", "scripts/postdeploy/size", "scripts/pr-predestroy"],
  "buildpacks/0/url",
  ...["environments/test", "environments/review", "environments/other", "environments/test/environments"],
];

it.each(places)("both agree on random values at /%s", (place) => {
  for (const value of values) {
    const manifest = manifestWith(place.split("/"), value);
    const { kit, sandbox } = readings(manifest);
    expect({ manifest, isTaken: sandbox === undefined }).toEqual({ manifest, isTaken: kit.length === 0 });
    if (sandbox) expect(kit.some((pointer) => sandbox.includes(` ${pointer} `))).toBe(true);
  }
});

/** The pointers of the kit's errors, and the message with which the sandbox refuses. */
function readings(manifest: unknown): { kit: string[]; sandbox: string | undefined } {
  const { ok, faults } = checkManifest(manifest);
  const errors = faults.filter(({ severity }) => severity === "error");
  expect(ok).toBe(errors.length === 0);
  return { kit: errors.map(({ pointer }) => pointer), sandbox: refusalOf(manifest) };
}

function refusalOf(manifest: unknown): string | undefined {
  try {
    readManifest(manifest);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function manifestWith(steps: string[], value: unknown): unknown {
  return steps.reduceRight((inner, step) => (step === "0" ? [inner] : { [step]: inner }), value);
}

function inReview([what, manifest]: [string, object]): [string, object] {
  return [`${what}, in an environment`, { environments: { review: manifest } }];
}

function pointedInReview([pointer, manifest]: [string, object]): [string, object] {
  return [`/environments/review${pointer}`, { environments: { review: manifest } }];
}

function whole(generator: string) {
  return { description: "What it is for", value: "5", required: false, generator };
}

function as(plan: string, name: string) {
  return { plan, as: name };
}
