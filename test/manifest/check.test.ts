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
    ["warning /formation", "warning /scripts"],
  ],
  ["add-ons as strings", { addons: ["postgresql:mini", { plan: "mail" }] }, ["warning /addons/0"]],
  [
    "flags of a command line behind a plan",
    { addons: [{ plan: "postgresql:mini --version=17" }, "redis --eviction=no"] },
    ["warning /addons/0/plan", "warning /addons/1", "warning /addons/1"],
  ],
  [
    "options of other types",
    { addons: [{ plan: "search", options: { size: 2, fast: true, list: ["a"], name: "s" } }] },
    ["warning /addons/0/options/list", "warning /addons/0/options/size"],
  ],
  ["buildpacks", { buildpacks: [{ url: "ruby" }, { url: "node" }] }, ["warning /buildpacks"]],
  ["the deprecated image", { image: "example/ruby" }, ["warning /image"]],
  [
    "several process types, one without a size",
    { formation: { web: { quantity: 1, size: "small" }, worker: { quantity: 0 } } },
    ["warning /formation", "warning /formation"],
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
  [
    "addresses that are none",
    { website: "example.com", repository: "soon", logo: "logo.png" },
    ["warning /logo", "warning /repository", "warning /website"],
  ],
  ["a logo in a format that is not shown", { logo: "https://example.com/logo.gif" }, ["warning /logo"]],
  ["names no process can see", { env: { "A=B": "x", "": "y" } }, ["error /env/", "error /env/A=B"]],
  ["a success_url that is a note", { success_url: "#TODO" }, ["warning /success_url"]],
  ["a success_url of a scheme alone", { success_url: "https://" }, ["warning /success_url"]],
  [
    "names of attachments that may not work as they are",
    { addons: ["db", "", "my db", "1st"].map((as) => ({ plan: "redis", as })) },
    ["warning /addons/1/as", "warning /addons/2/as", "warning /addons/3/as"],
  ],
  [
    "commands that run nothing",
    { scripts: { postdeploy: "", "pr-predestroy": { command: " " } } },
    ["warning /scripts", "warning /scripts/postdeploy", "warning /scripts/pr-predestroy/command"],
  ],
  ["a value beside a generator", { env: { KEY: { generator: "secret", value: "x" } } }, ["warning /env/KEY"]],
  [
    "plans that review and CI apps ignore",
    {
      addons: [{ plan: "redis:big" }],
      environments: { test: { addons: ["redis:small"] }, review: { addons: [{ plan: "redis:small" }] } },
    },
    [
      "warning /environments/review/addons/0/plan",
      ...["warning /environments/test/addons/0", "warning /environments/test/addons/0"],
    ],
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
      ...["error /scripts/postdeploy", "warning /addons/1", "warning /buildpacks", "warning /env/B"],
      ...["warning /env/B/about", "warning /formation", "warning /formation", "warning /scripts"],
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
      "The platform's manifest has no such key here, but postdeploy, pr-predestroy.",
      "It has a value and a generator: keep the one that is meant.",
    ]);
    const text = checkManifestText('{ "env": { "KEY": s3cret } }');
    expect(JSON.stringify([faults, text])).not.toMatch(/8675309|s3cret/);
  });
});

describe("the text of a manifest", () => {
  it.each([
    ["nothing", "", "1:1", "Value expected"],
    ["a comma too many", '{\n  "name": "x",\n}', "3:1", "Property name expected"],
    ["a missing comma", '{\n  "name": "x"\n  "env": {}\n}', "3:3", "Comma expected"],
    ["a missing end", '{\n  "env": {\n', "3:1", "Close brace expected"],
    ["a second document", '{}\n{"name": "x"}', "2:1", "End of file expected"],
    ["single quotes", "{ 'name': 'x' }", "1:3", "Invalid symbol"],
    ["a comment", '{\r\n  // my app\r\n  "name": "x"\r\n}', "2:3", "Invalid comment token"],
    ["a tab in a string", '{ "name": "a\tb" }', "1:11", "Invalid character"],
  ])("that is not valid JSON is reported with place and reason: %s", (_, text, where, why) => {
    const [line, column] = where.split(":").map(Number);
    const message = `Not JSON, at line ${line}, column ${column}: ${why}.`;
    const fault = { pointer: "", severity: "error", message, place: { line, column } };
    expect(checkManifestText(text)).toEqual({ ok: false, faults: [fault] });
  });

  it.each([
    ["bytes of another encoding", Buffer.from('{ "name": "caf\u00e9" }', "latin1"), "UTF-8"],
    ["UTF-16", Buffer.from('\ufeff{ "name": "x" }', "utf16le"), "UTF-8"],
    ["a text that is nested too deep", "[".repeat(400_000), "deeper"],
    ["a whole text that is nested too deep", "[".repeat(200_000) + "]".repeat(200_000), "deeper"],
  ])("is refused: %s", (_, text, why) => {
    const faults = [{ pointer: "", severity: "error", message: expect.stringContaining(why) }];
    expect(checkManifestText(text)).toEqual({ ok: false, faults });
  });

  it("gives every fault its position, in the order of the text; a byte order mark in front counts as none", () => {
    const text =
      '{\n  "env": {\n    "A": 1\n  },\n  "nmae": "x",\n  "addons": ["a",\n    5, {}],\n  "name": null\n}';
    const { faults } = checkManifestText(Buffer.from(`\ufeff${text}`));
    expect(faults.map(({ place, pointer }) => `${place?.line}:${place?.column} ${pointer}`)).toEqual([
      ...["3:5 /env/A", "5:3 /nmae", "6:14 /addons/0", "7:5 /addons/1", "7:8 /addons/2/plan", "8:3 /name"],
    ]);
  });

  it("causes at most 1,000 errors", () => {
    const variables = Array.from({ length: 3000 }, (_, index) => `"V${index}": 1`);
    const { ok, faults } = checkManifestText(`{ "env": { ${variables.join()} } }`);
    expect([ok, faults.length]).toEqual([false, 1000]);
  });
});
