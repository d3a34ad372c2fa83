import { fileURLToPath } from "node:url";
import { settingsFromEnvironment } from "../../../packages/sandbox/environment.ts";
import { addonManifest } from "../../../src/offer.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { offer } from "../../support/teapots/plans.ts";
import { aWorld, type World } from "../../support/world.ts";

const broken = { env: { PORT: { value: 5000 } }, addons: ["redis"] };

// Without any settings and without a database: kit() gives none.
describe("kit manifest check", () => {
  it("lists every fault with its JSON pointer, and exits with 1 on an error, with 0 on warnings alone", async () => {
    const place = { line: 1, column: expect.any(Number) };
    const error = { pointer: "/env/PORT/value", severity: "error", message: expect.any(String), ...place };
    const warning = { pointer: "/addons/0", severity: "warning", message: expect.any(String), ...place };
    const check = (content: object) => kitJson({}, ["manifest", "check", "-"], JSON.stringify(content));
    expect(await check(broken)).toEqual({ code: 1, data: { ok: false, faults: [error, warning] } });
    expect(await check({ addons: ["redis"] })).toEqual({ code: 0, data: { ok: true, faults: [warning] } });
  });

  it("reads a file, if it can, and standard input for -, where nothing is a fault", async () => {
    const ours = fileURLToPath(new URL("../../../app.json", import.meta.url));
    expect(await kitJson({}, ["manifest", "check", ours])).toMatchObject({ code: 0, data: { ok: true } });
    const nowhere = await kitJson({}, ["manifest", "check", `${ours}-of-nowhere`]);
    expect(nowhere).toMatchObject({ code: 1, data: { id: "unreadable" } });
    const empty = await kitJson({}, ["manifest", "check", "-"]);
    expect(empty).toMatchObject({ code: 1, data: { faults: [{ pointer: "", severity: "error" }] } });
  });

  it("tells people, with the file's control characters escaped", async () => {
    const coloured = JSON.stringify({ ...broken, "\u001b[2J\u001b[31m": 1 });
    const { code, stdout, stderr } = await kit({}, ["manifest", "check", "-"], coloured);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/✗ \/env\/PORT\/value line 1, column 17\n[^]*\[2J/);
    expect(stdout).not.toContain("\u001b");
  });
});

describe("kit manifest resolve", () => {
  const manifest = JSON.stringify({
    $schema: "./app.schema.json",
    name: "x",
    env: { A: "1", B: "2" },
    environments: { test: { env: { A: "3" } }, review: { env: {}, $schema: 5, environments: {} } },
  });

  it.each([
    [[], { A: "1", B: "2" }],
    [["--environment", "test"], { A: "3" }],
    [["--environment", "review"], {}],
  ])("prints the effective manifest of an environment: %j", async (options, env) => {
    const words = ["manifest", "resolve", "-", ...options];
    const data = { name: "x", env };
    expect(await kitJson({}, words, manifest)).toEqual({ code: 0, data });
    expect(JSON.parse((await kit({}, words, manifest)).stdout)).toEqual(data);
  });

  it("prints no result for an invalid manifest", async () => {
    const words = ["manifest", "resolve", "-"];
    const data = { id: "manifest_broken", message: expect.any(String) };
    expect(await kitJson({}, words, JSON.stringify(broken))).toEqual({ code: 1, data });
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
    const stderr = expect.stringContaining(`${name} is required`);
    const said = await kit(environment, ["manifest", "write", ...options]);
    expect(said).toEqual({ code: 78, stdout: "", stderr });
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
  ])("has the common prefix of the config vars, and what the offer requires: %j", (configVars, prefix) => {
    const requires = ["log_input"] as const;
    const found = addonManifest("teapots", { ...offer, configVars, requires });
    expect([found.config_vars_prefix, found.requires]).toEqual([prefix, requires]);
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
