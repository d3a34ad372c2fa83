import { checkManifest, checkManifestText } from "../../src/manifest/check.ts";

// Manifests as people write them, each with its faults: "error" or "warning", and where. Which rules there are, and what
// each takes and refuses, is in agreement.test.ts.

const manifests: [name: string, manifest: unknown, faults: readonly string[]][] = [
  ["nothing that must be there", {}, []],
  ["no object", [], ["error "]],
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
    { formation: { web: { quantity: 1, size: "small" }, worker: { quantity: 0 } } },
    ["warning /formation"],
  ],
  ["a formation as a list, as it once was", { formation: [{ process: "web" }] }, ["error /formation"]],
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
  ["names no process can see", { env: { "A=B": "x", "": "y" } }, ["error /env/", "error /env/A=B"]],
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
];

describe("checking a manifest", () => {
  it.each(manifests)("with %s", (_, manifest, expected) => {
    const before = JSON.stringify(manifest);
    const { ok, faults } = checkManifest(manifest);
    expect(faults.map(({ severity, pointer }) => `${severity} ${pointer}`).sort()).toEqual(expected);
    expect(ok).toBe(!expected.some((fault) => fault.startsWith("error")));
    expect(JSON.stringify(manifest)).toBe(before);
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
    ["a comma too many", '{ "name": "x", }'],
    ["a comment", '{ // my app\n "name": "x" }'],
    ["bytes of another encoding", Buffer.from('{ "name": "caf\u00e9" }', "latin1")],
    ["UTF-16", Buffer.from('\ufeff{ "name": "x" }', "utf16le")],
  ])("is refused that is no JSON in UTF-8: %s", (_, text) => {
    const message = expect.stringMatching(/^Not JSON in UTF-8: ./);
    expect(checkManifestText(text)).toEqual({
      ok: false,
      faults: [{ pointer: "", severity: "error", message }],
    });
  });

  it("may begin with a byte order mark", () => {
    expect(checkManifestText(Buffer.from('\ufeff{ "name": "x" }'))).toMatchObject({ ok: true, faults: [] });
  });
});
