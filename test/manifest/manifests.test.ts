import { describe, expect, it } from "@jest/globals";
import { checkManifest } from "../../src/manifest/check.ts";

// Manifests as people write them, each with its faults: "error" or "warning", and where.

const BILLED_FORMATION = "warning /formation";
const BILLED_SCRIPTS = "warning /scripts";

const manifests: [name: string, manifest: object, faults: readonly string[]][] = [
  [
    "a small bot: a name, and what it needs to know",
    {
      name: "Reminder bot",
      description: "Reminds a channel of what it forgot",
      keywords: ["bot", "chat"],
      repository: "https://git.example.com/people/reminder",
      env: {
        BOT_TOKEN: { description: "From the chat's settings" },
        CHANNEL: { description: "Where to remind", required: false },
        TZ: "UTC",
      },
    },
    [],
  ],
  [
    "an application with everything in the preferred form",
    {
      name: "Bookshop",
      website: "https://bookshop.example.com",
      repository: "git@git.example.com:people/bookshop.git",
      logo: "https://bookshop.example.com/logo.svg",
      success_url: "/admin",
      stack: "newest",
      env: { SECRET_KEY: { generator: "secret" }, WEB_CONCURRENCY: { value: "5", required: true } },
      formation: { web: { quantity: 2, size: "small" }, worker: { quantity: 1, size: "small" } },
      addons: [{ plan: "postgresql", as: "DATABASE", options: { version: "17", encrypted: true } }],
      scripts: { postdeploy: { command: "bin/setup", size: "small" }, "pr-predestroy": "bin/clean-up" },
      environments: { test: { scripts: { postdeploy: "bin/seed" } }, review: { addons: [] } },
    },
    [BILLED_FORMATION, BILLED_SCRIPTS],
  ],
  [
    "add-ons as strings, told once",
    { addons: ["postgresql:mini", "redis", { plan: "mail" }] },
    ["warning /addons/0"],
  ],
  [
    "flags of a command line behind a plan",
    { addons: [{ plan: "postgresql:mini --version=17" }, "redis --eviction=no"] },
    ["warning /addons/1", "warning /addons/0/plan", "warning /addons/1"],
  ],
  [
    "options of other types",
    { addons: [{ plan: "search", options: { size: 2, fast: true, safe: false, list: ["a"], name: "s" } }] },
    ["warning /addons/0/options/size", "warning /addons/0/options/safe", "warning /addons/0/options/list"],
  ],
  ["buildpacks", { buildpacks: [{ url: "ruby" }, { url: "node" }] }, ["warning /buildpacks"]],
  ["buildpacks as strings", { buildpacks: ["ruby"] }, ["error /buildpacks/0", "warning /buildpacks"]],
  ["the deprecated image", { image: "example/ruby" }, ["warning /image"]],
  ["a formation that runs nothing", { formation: { web: { quantity: 0 } } }, []],
  [
    "several process types, one without a size",
    { formation: { web: { quantity: 1, size: "small" }, worker: { quantity: 0 } } },
    [BILLED_FORMATION, "warning /formation"],
  ],
  [
    "a formation as a list, as it once was",
    { formation: [{ process: "web", quantity: 1 }] },
    ["error /formation"],
  ],
  [
    "keys that were mistyped, at every level",
    {
      succes_url: "/",
      build_packs: [],
      env: { PORT: { desc: "the port", defualt: "1" } },
      formation: { web: { quanity: 0, quantity: 0 } },
      addons: [{ plan: "redis", alias: "CACHE" }],
      scripts: { predestroy: "x", "post-deploy": "y" },
      environments: { test: { adons: [] } },
    },
    [
      "warning /succes_url",
      "warning /build_packs",
      "warning /env/PORT/desc",
      "warning /env/PORT/defualt",
      "warning /formation/web/quanity",
      "warning /addons/0/alias",
      "warning /scripts/predestroy",
      "warning /scripts/post-deploy",
      "warning /environments/test/adons",
    ],
  ],
  [
    "commands of other platforms' lives",
    { scripts: { test: "npm test", release: "bin/release" } },
    ["warning /scripts/test", "warning /scripts/release"],
  ],
  ["the app.json of another tool", { mobile: { slug: "app", icon: "./icon.png" } }, ["warning "]],
  ["a schema for the editor", { $schema: "./app.schema.json", name: "x" }, []],
  ["something else for the editor", { $schema: { draft: 7 }, name: "x" }, []],
  [
    "addresses that are none",
    { website: "example.com", repository: "soon", logo: "logo.png" },
    ["warning /website", "warning /repository", "warning /logo"],
  ],
  [
    "repositories of every kind",
    {
      repository: "svn+ssh://svn.example.com/trunk",
      environments: {
        test: { repository: "https://hg.example.com/app" },
        review: { repository: "git://git.example.com/app.git" },
      },
    },
    [],
  ],
  ["a logo in a format that is not shown", { logo: "https://example.com/logo.gif" }, ["warning /logo"]],
  ["a logo of no format that can be seen", { logo: "https://example.com/avatar?s=200" }, []],
  ["names no process can see", { env: { "A=B": "x", "": "y" } }, ["error /env/A=B", "error /env/"]],
  ["variables of strange names", { env: { "A B": "x", "1A": "y", "a.b": "z" } }, []],
  ["a full success_url, of whatever scheme", { success_url: "app://start" }, []],
  ["a success_url of the new app", { success_url: "/welcome?x=1" }, []],
  ["a success_url that is a note", { success_url: "#TODO" }, ["warning /success_url"]],
  ["a success_url of a scheme alone", { success_url: "https://" }, ["warning /success_url"]],
  ["an empty success_url", { success_url: "" }, ["warning /success_url"]],
  [
    "a success_url without its /, in an environment",
    { environments: { review: { success_url: "welcome" } } },
    ["warning /environments/review/success_url"],
  ],
  [
    "names of attachments that may not work as they are",
    { addons: ["db", "", "my db", "1st"].map((as) => ({ plan: "redis", as })) },
    ["warning /addons/1/as", "warning /addons/2/as", "warning /addons/3/as"],
  ],
  [
    "commands that run nothing",
    { scripts: { postdeploy: "", "pr-predestroy": { command: " " } } },
    ["warning /scripts/postdeploy", "warning /scripts/pr-predestroy/command"],
  ],
  [
    "environments of an environment",
    { environments: { test: { environments: { production: 5 } } } },
    ["warning /environments/test/environments"],
  ],
  ["a value beside a generator", { env: { KEY: { generator: "secret", value: "x" } } }, ["warning /env/KEY"]],
  [
    "plans that review and CI apps ignore",
    {
      addons: [{ plan: "redis:big" }],
      environments: { test: { addons: ["redis:small"] }, review: { addons: [{ plan: "redis:small" }] } },
    },
    [
      "warning /environments/test/addons/0",
      "warning /environments/test/addons/0",
      "warning /environments/review/addons/0/plan",
    ],
  ],
  [
    "bills of environments alone, told once",
    {
      environments: {
        test: { formation: { web: { quantity: 1 } }, scripts: { postdeploy: "x" } },
        review: { formation: { web: { quantity: 1 } }, scripts: { postdeploy: "x" } },
      },
    },
    ["warning /environments/test/formation", "warning /environments/test/scripts"],
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
      environments: { production: {}, test: { environments: {} } },
    },
    [
      "error /name",
      "error /env/A",
      "error /env/B/value",
      "error /env/B/required",
      "error /env/B/generator",
      "error /formation/web/quantity",
      "error /addons/0",
      "error /addons/2/plan",
      "error /addons/3",
      "error /buildpacks/0/url",
      "error /scripts/postdeploy",
      "error /environments/production",
      "warning /env/B/about",
      "warning /environments/test/environments",
      BILLED_FORMATION,
      "warning /addons/1",
      "warning /buildpacks",
      BILLED_SCRIPTS,
    ],
  ],
  [
    "keys that every object inherits",
    JSON.parse('{ "name": "x", "constructor": 1, "__proto__": { "env": 5 }, "env": { "toString": "x" } }'),
    ["warning /constructor", "warning /__proto__"],
  ],
];

describe("checking a manifest", () => {
  it.each(manifests)("with %s", (_, manifest, expected) => {
    const { ok, faults } = checkManifest(manifest);
    expect(faults.map(({ severity, pointer }) => `${severity} ${pointer}`)).toEqual(expected);
    expect(ok).toBe(!expected.some((fault) => fault.startsWith("error")));
  });

  it("does not modify it", () => {
    for (const [, manifest] of manifests) {
      const before = JSON.stringify(manifest);
      checkManifest(manifest);
      expect(JSON.stringify(manifest)).toBe(before);
    }
  });
});

describe("advice for an unknown key", () => {
  it.each([
    [{ succes_url: "/" }, "success_url"],
    [{ Website: "https://example.com" }, "website"],
    [{ name: "x", successUrl: "/" }, "success_url"],
    [{ env: { A: { descritpion: "x" } } }, "description"],
    [{ env: { A: { desc: "x" } } }, "description"],
    [{ scripts: { "pr-predeploy": "x" } }, "pr-predestroy"],
    [{ buildpack: [] }, "buildpacks"],
  ])("names the intended key: %j", (manifest, meant) => {
    expect(checkManifest(manifest).faults).toMatchObject([
      { message: expect.stringContaining(`"${meant}"`) },
    ]);
  });

  it.each([{ name: "x", healthchecks: {} }, { scripts: { release: "x" } }, { name: "x", names: "y" }])(
    "is absent when no known key is similar, or that one is present: %j",
    (manifest) => {
      const [fault] = checkManifest(manifest).faults;
      expect(fault!.message).not.toContain("Did you mean");
    },
  );

  it("lists the allowed keys where there are few", () => {
    const { faults } = checkManifest({ scripts: { release: "x" } });
    expect(faults).toMatchObject([{ message: expect.stringContaining("postdeploy, pr-predestroy") }]);
  });
});
