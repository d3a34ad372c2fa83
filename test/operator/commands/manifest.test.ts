import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { kit, kitJson } from "../../support/kit.ts";
import { settingsFromEnvironment } from "../../../packages/sandbox/environment.ts";
import { addonManifest } from "../../../src/offer.ts";
import { offer } from "../../support/teapots/plans.ts";
import { aWorld, type World } from "../../support/world.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "manifests-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const broken = { env: { PORT: { value: 5000 } }, addons: ["redis"] };

function file(name: string, content: object): string {
  const at = path.join(folder, name);
  writeFileSync(at, JSON.stringify(content));
  return at;
}

// Without any settings and without a database: kit() gives none.
describe("kit manifest check", () => {
  it("lists every fault with its JSON pointer, and exits with 1 on an error", async () => {
    const { code, data } = await kitJson({}, ["manifest", "check", file("broken.json", broken)]);
    expect({ code, data }).toEqual({
      code: 1,
      data: {
        ok: false,
        faults: [
          { pointer: "/env/PORT/value", severity: "error", message: expect.any(String) },
          { pointer: "/addons/0", severity: "warning", message: expect.any(String) },
        ],
      },
    });
  });

  it("exits with 0 when there are only warnings", async () => {
    const { code, data } = await kitJson({}, ["manifest", "check", file("fair.json", { addons: ["redis"] })]);
    expect({ code, data }).toMatchObject({ code: 0, data: { ok: true, faults: [{ severity: "warning" }] } });
  });

  it("reads standard input for -", async () => {
    const sound = await kitJson({}, ["manifest", "check", "-"], '{ "name": "x" }');
    expect(sound).toEqual({ code: 0, data: { ok: true, faults: [] } });
    const empty = await kitJson({}, ["manifest", "check", "-"]);
    expect(empty).toMatchObject({ code: 1, data: { faults: [{ pointer: "", severity: "error" }] } });
  });

  it("tells people, with the file's control characters escaped", async () => {
    const at = file("coloured.json", { ...broken, "\u001b[2J\u001b[31m": 1 });
    const { code, stdout, stderr } = await kit({}, ["manifest", "check", at]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/✗ \/env\/PORT\/value\n[^]*\[2J/);
    expect(stdout).not.toContain("\u001b");
  });

  it("fails for a file that cannot be read", async () => {
    const words = ["manifest", "check", path.join(folder, "nowhere.json")];
    expect(await kitJson({}, words)).toMatchObject({ code: 1, data: { id: "unreadable" } });
  });
});

describe("kit manifest resolve", () => {
  const manifest = {
    $schema: "./app.schema.json",
    name: "x",
    env: { A: "1", B: "2" },
    environments: { test: { env: { A: "3" } }, review: { env: {}, $schema: 5, environments: {} } },
  };

  it.each([
    [[], { A: "1", B: "2" }],
    [["--environment", "test"], { A: "3" }],
    [["--environment", "review"], {}],
  ])("prints the effective manifest of an environment: %j", async (options, env) => {
    const words = ["manifest", "resolve", file("app.json", manifest), ...options];
    const { code, data } = await kitJson({}, words);
    expect({ code, data }).toEqual({ code: 0, data: { name: "x", env } });
    expect(JSON.parse((await kit({}, words)).stdout)).toEqual(data);
  });

  it("prints no result for an invalid manifest", async () => {
    const words = ["manifest", "resolve", file("broken.json", broken)];
    expect(await kitJson({}, words)).toMatchObject({ code: 1, data: { id: "manifest_broken" } });
    expect((await kit({}, words)).stdout).toBe("");
  });
});

const PASSWORD = "a-password-of-the-addon";
const SALT = "a-salt-of-the-sign-on";
const settings = {
  ADDON_ID: "teapots",
  PUBLIC_URL: "https://addon.example.com/",
  RESOURCES_PATH: "/v2/resources",
};
const secret = { ...settings, ADDON_PASSWORD: PASSWORD, SSO_SALT: SALT };

describe("kit manifest write", () => {
  it("prints the offer and the addresses, and the secrets only with --reveal", async () => {
    const whole = {
      ...addonManifest("teapots", offer),
      base_url: "https://addon.example.com/v2/resources",
      sso_url: "https://addon.example.com/sso/login",
    };
    expect(await kitJson(secret, ["manifest", "write"])).toEqual({ code: 0, data: whole });
    expect((await kitJson(settings, ["manifest", "write"])).data).not.toHaveProperty("sso_url");
    const { stdout } = await kit(secret, ["manifest", "write", "--reveal"]);
    expect(JSON.parse(stdout)).toEqual({ ...whole, password: PASSWORD, sso_salt: SALT });
  });

  it.each([
    ["PUBLIC_URL", { ADDON_ID: "teapots" }, []],
    ["ADDON_ID", { PUBLIC_URL: "https://addon.example.com" }, []],
    ["ADDON_PASSWORD", settings, ["--reveal"]],
  ])("requires %s, and prints nothing without it", async (name, environment, options) => {
    const { code, stdout, stderr } = await kit(environment, ["manifest", "write", ...options]);
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 78, stdout: "" },
      stderr: expect.stringContaining(`${name} is required`),
    });
  });
});

describe("the manifest of the add-on", () => {
  it.each([
    [["TEAPOT_URL", "TEAPOT_TOKEN"], "TEAPOT"],
    [["TEAPOT_URL"], "TEAPOT"],
    [["TEAPOT_RED_URL", "TEAPOT_RED_LID", "TEAPOT_SIZE"], "TEAPOT"],
    [["TEAPOT", "TEAPOT_URL"], undefined],
    [["TEAPOT_URL", "TEAPOTS_URL"], undefined],
    [["URL"], undefined],
    [[], undefined],
  ])("has the common prefix of the config vars: %j", (configVars, prefix) => {
    expect(addonManifest("teapots", { ...offer, configVars }).config_vars_prefix).toBe(prefix);
  });

  it("has what the offer requires", () => {
    const requires = ["log_input"] as const;
    expect(addonManifest("teapots", { ...offer, requires })).toMatchObject({ requires });
  });
});

describe("a sandbox registered by the manifest alone", () => {
  let world: World;
  beforeAll(async () => {
    const { stdout } = await kit(secret, ["manifest", "write", "--reveal"]);
    const registered = settingsFromEnvironment({ SANDBOX_PORT: "0", ADDON_MANIFEST: stdout });
    expect(registered).toMatchObject({
      partnerUrl: "https://addon.example.com",
      resourcesPath: "/v2/resources",
    });
    // The service's password there is the platform's, which has it from the manifest.
    world = await aWorld({
      sandbox: registered,
      environment: { RESOURCES_PATH: "/v2/resources", SSO_SALT: SALT, SWEEP_CRON: "* * * * * *" },
    });
  });
  afterAll(() => world.close());

  it("installs every plan; together they set the declared config vars, and no others", async () => {
    const { control } = world.sandbox;
    const set = new Set<string>();
    for (const plan of Object.keys(offer.plans)) {
      const { addon, response } = await control.install({ plan });
      expect([plan, response?.status]).toEqual([plan, offer.plans[plan]!.later ? 202 : 200]);
      await world.quiet([addon.id]);
      expect([plan, control.addon(addon.id).state]).toEqual([plan, "provisioned"]);
      for (const name of Object.keys(control.configVars(addon.app.name))) set.add(name);
    }
    expect([...set].sort()).toEqual([...offer.configVars].sort());
    expect(control.ledger().entries.flatMap(({ complaints = [] }) => complaints)).toEqual([]);
  });

  it("signs customers on with the salt of the manifest", async () => {
    const { addon } = await world.sandbox.control.install({ plan: offer.defaultPlan });
    const { form } = world.sandbox.control.signOnForm(addon.id);
    const sent = { method: "POST", body: new URLSearchParams(form), redirect: "manual" } as const;
    expect((await fetch(`${world.service.url}/sso/login`, sent)).status).toBe(303);
  });
});
