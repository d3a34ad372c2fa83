import { readFileSync } from "node:fs";
import { Ajv2020 as Ajv } from "ajv/dist/2020.js";
import { readManifest } from "../../packages/sandbox/manifest/manifest.ts";
import { checkManifest, checkManifestText, manifestJsonSchema } from "../../src/manifest/check.ts";

// The kit's check and the sandbox implement one section of the platform document ("App manifest") independently. What
// one accepts the other must accept, and what is wrong must be wrong for both, at the same place.

// Manifests as people write them, each with its faults: "error" or "warning", and where.
const manifests: [name: string, manifest: unknown, faults: readonly string[]][] = [
  ["nothing that must be there", {}, []],
  ["a list", [], ["error "]],
  ["null", null, ["error "]],
  ["a name of 30 characters, each of two units", { name: "😀".repeat(30) }, []],
  [
    "everything in the preferred form",
    {
      $schema: "./app.schema.json",
      name: "Bookshop",
      website: "https://bookshop.example.com",
      repository: "git@git.example.com:people/bookshop.git",
      logo: "https://bookshop.example.com/logo.svg",
      success_url: "/admin",
      env: {
        SECRET_KEY: { generator: "secret" },
        WEB_CONCURRENCY: { value: "5", required: true },
        "A B": "x",
      },
      formation: { web: { quantity: 2, size: "small" }, worker: { quantity: 1, size: "small" } },
      addons: [{ plan: "postgresql", as: "DATABASE", options: { version: "17", encrypted: true } }],
      scripts: { postdeploy: { command: "bin/setup", size: "small" }, "pr-predestroy": "bin/clean-up" },
      environments: {
        test: { repository: "https://hg.example.com/app", success_url: "app://start" },
        review: {
          addons: [],
          repository: "svn+ssh://svn.example.com/trunk",
          formation: { web: { quantity: 0 } },
        },
      },
    },
    [],
  ],
  ["add-ons as strings", { addons: ["postgresql:mini", { plan: "mail" }] }, ["warning /addons/0"]],
  [
    "attachments without a name, or whose names need mending, and one add-on twice",
    { addons: ["", "", "a b", "a_b"].map((as) => ({ plan: "a", as })) },
    [],
  ],
  [
    "plans with spaces, one that is missing, and flags behind others",
    { addons: ["a:", "a b", " a", "a:b --version=1", "a --version 17 --fast"] },
    [0, 1, 2].map((at) => `error /addons/${at}`).concat("warning /addons/3", "warning /addons/4"),
  ],
  [
    "options that are neither strings nor true, also of an environment",
    {
      addons: [{ plan: "a", options: { size: 2, on: true, v: "17" } }],
      environments: { test: { addons: [{ plan: "a", options: { off: false } }] } },
    },
    ["warning /addons/0/options/size", "warning /environments/test/addons/0/options/off"],
  ],
  ["buildpacks", { buildpacks: [{ url: "ruby" }, { url: "node" }] }, ["warning /buildpacks"]],
  ["the deprecated image", { image: "example/ruby" }, ["warning /image"]],
  [
    "several process types, one without a size",
    { formation: { web: { quantity: 1, size: "small" }, worker: { quantity: 2 } } },
    ["warning /formation"],
  ],
  ["a process type of which none runs", { formation: { web: { quantity: 1 }, worker: { quantity: 0 } } }, []],
  [
    "keys that were mistyped, at every level",
    {
      succes_url: "/",
      env: { PORT: { defualt: "1" } },
      formation: { web: { quanity: 0, quantity: 0 } },
      addons: [{ plan: "redis", alias: "CACHE" }],
      scripts: { "post-deploy": "y" },
      environments: { test: { adons: [], environments: { production: 5 } } },
    },
    [
      ...["warning /addons/0/alias", "warning /env/PORT/defualt", "warning /environments/test/adons"],
      ...["warning /environments/test/environments", "warning /formation/web/quanity"],
      ...["warning /scripts/post-deploy", "warning /succes_url"],
    ],
  ],
  [
    "names no process can see",
    { env: { "A=B": "x", "": "y", "A\0": { value: "z" } } },
    ["error /env/", "error /env/A\0", "error /env/A=B"],
  ],
  [
    "plans that review and CI apps ignore",
    {
      addons: [{ plan: "redis:big" }],
      environments: { test: { addons: ["redis:small"] }, review: { addons: [{ plan: "redis:small" }] } },
    },
    [
      "warning /environments/review/addons/0",
      ...["warning /environments/test/addons/0", "warning /environments/test/addons/0"],
    ],
  ],
  [
    "two names of add-ons that are one, beside a key that was mistyped",
    {
      addons: [
        { plan: "a", as: "DB", alias: "X" },
        { plan: "b", as: " db" },
      ],
    },
    ["error /addons/1/as", "warning /addons/0/alias"],
  ],
  [
    "names with the two characters that a pointer escapes",
    { env: { "a/b~c": 1, "~1": { required: "no" } } },
    ["error /env/a~1b~0c", "error /env/~01/required"],
  ],
  [
    "everything wrong at once: each is named, and what is sound is still looked at",
    {
      name: "n".repeat(31),
      env: { A: 1, B: { value: 2, required: "yes", generator: "uuid", about: "b" } },
      formation: { web: { quantity: -1 }, worker: { quantity: 1 } },
      addons: ["a:b:c", "redis:mini", { as: "X" }, null],
      buildpacks: [{}, { url: "node" }],
      scripts: { postdeploy: 5, "pr-predestroy": "x" },
      environments: { production: {} },
    },
    [
      ...["error /addons/0", "error /addons/2/plan", "error /addons/3", "error /buildpacks/0/url"],
      ...["error /env/A", "error /env/B/generator", "error /env/B/required", "error /env/B/value"],
      ...["error /environments/production", "error /formation/web/quantity", "error /name"],
      ...["error /scripts/postdeploy", "warning /addons/1", "warning /buildpacks", "warning /env/B/about"],
      "warning /formation",
    ],
  ],
  [
    "keys that every object inherits",
    JSON.parse('{ "name": "x", "constructor": 1, "__proto__": { "env": 5 }, "env": { "toString": "x" } }'),
    ["warning /__proto__", "warning /constructor"],
  ],
  [
    "an environment that is none",
    JSON.parse('{ "environments": { "__proto__": {} } }'),
    ["error /environments/__proto__"],
  ],
];

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

/** The message with which the sandbox refuses; empty: it takes it. */
function refusalOf(manifest: unknown): string {
  try {
    readManifest(manifest);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("checking a manifest", () => {
  it.each(manifests)("with %s", (_, manifest, expected) => {
    const before = JSON.stringify(manifest);
    const { ok, faults } = checkManifest(manifest);
    expect(faults.map(({ severity, pointer }) => `${severity} ${pointer}`).sort()).toEqual(expected);
    expect(ok).toBe(!expected.some((fault) => fault.startsWith("error")));
    expect(JSON.stringify(manifest)).toBe(before);
    const sandbox = refusalOf(manifest);
    if (ok) expect(sandbox).toBe("");
    for (const { pointer, severity } of faults)
      expect([pointer, sandbox.includes(` ${pointer || "It"} `)]).toEqual([pointer, severity === "error"]);
  });

  it.each(places)("agrees with the sandbox on odd values at /%s, also of an environment", (place) => {
    for (const value of values) {
      const manifest = place
        .split("/")
        .reduceRight<unknown>((inner, step) => (step === "0" ? [inner] : { [step]: inner }), value);
      for (const each of [manifest, { environments: { review: manifest } }]) {
        const { ok, faults } = checkManifest(each);
        const sandbox = refusalOf(each);
        expect({ each, isTaken: sandbox === "" }).toEqual({ each, isTaken: ok });
        const errors = faults.filter(({ severity }) => severity === "error");
        const isNamed = errors.some(({ pointer }) => sandbox.includes(` ${pointer} `));
        expect({ each, isNamed }).toEqual({ each, isNamed: !ok });
      }
    }
  });

  it("says what belongs there, and never what the value of a variable is", () => {
    const env = { KEY: { value: 8675309, generator: "s3cret-in-the-wrong-place" }, OTHER: ["8675309"] };
    const { faults } = checkManifest({ env, scripts: { release: "x" } });
    expect(faults.map(({ message }) => message)).toEqual([
      "Invalid input: expected string, received number",
      'Invalid input: expected "secret"',
      "Invalid input: expected object or string",
      "The platform's manifest has no such key here.",
    ]);
    expect(JSON.stringify(faults)).not.toMatch(/8675309|s3cret/);
  });
});

describe("the text of a manifest", () => {
  it.each<[string, string | Uint8Array]>([
    ["a comment", '{ // my app\n "name": "x" }'],
    ["bytes of another encoding", Buffer.from('{ "name": "caf\u00e9" }', "latin1")],
  ])("is refused that is no JSON in UTF-8: %s", (_, text) => {
    const message = expect.stringMatching(/^Not JSON in UTF-8: ./);
    expect(checkManifestText(text)).toEqual({
      ok: false,
      faults: [expect.objectContaining({ pointer: "", severity: "error", message })],
    });
  });

  it("may begin with a byte order mark", () => {
    expect(checkManifestText(Buffer.from('\ufeff{ "name": "x" }'))).toMatchObject({ ok: true, faults: [] });
  });
});

describe("the place of a fault in the text", () => {
  const lines = (...text: string[]) => text.join("\n");
  it.each<[string, string, [pointer: string, line: number, column: number][]]>([
    ["a value", lines("{", '  "name": 5', "}"), [["/name", 2, 3]]],
    [
      "an element",
      lines('{"addons": [', '"a", {"plan": "b c"}]}'),
      [
        ["/addons/1/plan", 2, 7],
        ["/addons/0", 2, 1],
      ],
    ],
    ["a member that is missing", lines("{", '"addons": [{}]}'), [["/addons/0/plan", 2, 12]]],
    ["the whole file", " []", [["", 1, 2]]],
    ["behind a byte order mark", '\ufeff{"name": 5}', [["/name", 1, 2]]],
    ["characters of two units", '{"env": {"😀": 5}}', [["/env/😀", 1, 10]]],
    ["a key that is there twice", lines('{"env": {"A": "1",', '"A": "2"}}'), [["/env/A", 1, 10]]],
    ["a mistake in the JSON", lines("{", '"name": "x"', '"a": 1}'), [["", 3, 1]]],
  ])("is that of %s", (_, text, places) => {
    const { faults } = checkManifestText(text);
    expect(faults.map(({ pointer, line, column }) => [pointer, line, column])).toEqual(places);
  });

  it("is left out of what nests too deeply, and of what is no UTF-8", () => {
    const deep = `${'{"env":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    for (const text of [deep, Uint8Array.of(0xff)])
      expect(checkManifestText(text).faults).toEqual([
        expect.not.objectContaining({ line: expect.any(Number) }),
      ]);
  });
});

describe("app.schema.json", () => {
  const schema = JSON.parse(readFileSync("app.schema.json", "utf8")) as object;
  const validate = new Ajv({ strict: false }).compile(schema);

  it("is what kit manifest schema prints (kit manifest schema > app.schema.json)", () =>
    expect(schema).toEqual(JSON.parse(JSON.stringify(manifestJsonSchema()))));

  it.each(manifests)(
    "finds of %s what the check finds, but for names that are there twice",
    (_, manifest, expected) => {
      const isTwice = expected.includes("error /addons/1/as");
      const isSound = expected.every((fault) => fault.startsWith("warning"));
      const isMistyped = checkManifest(manifest).faults.some(({ message }) =>
        message.includes("no such key"),
      );
      expect(validate(manifest)).toBe((isSound || isTwice) && !isMistyped);
    },
  );
});
