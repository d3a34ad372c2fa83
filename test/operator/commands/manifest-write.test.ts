import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { settingsFromEnvironment } from "../../../packages/sandbox/environment.ts";
import { addonManifest } from "../../../src/operator/addon-manifest.ts";
import { offer } from "../../support/teapots/plans.ts";
import { signed } from "../../people/customers.ts";
import { aWorld, type World } from "../../support/world.ts";
import { kit, kitJson } from "../../support/kit.ts";

const PASSWORD = "a-password-of-the-addon";
const SALT = "a-salt-of-the-sign-on";
const settings = {
  ADDON_ID: "teapots",
  PUBLIC_URL: "https://addon.example.com/",
  RESOURCES_PATH: "/v2/resources",
};
const secret = { ...settings, ADDON_PASSWORD: PASSWORD, SSO_SALT: SALT };

let folder: string;
beforeAll(() => void (folder = mkdtempSync(path.join(tmpdir(), "addon-manifests-"))));
afterAll(() => rmSync(folder, { recursive: true }));

const at = (name: string) => path.join(folder, name);
const read = (name: string) => JSON.parse(readFileSync(at(name), "utf8")) as Record<string, unknown>;
const modeOf = (name: string) => (statSync(at(name)).mode & 0o777).toString(8);

describe("kit manifest write", () => {
  it("writes the offer and the addresses, and no secret without --reveal", async () => {
    const { code, data } = await kitJson({ ...secret }, ["manifest", "write"]);
    expect({ code, data }).toEqual({
      code: 0,
      data: {
        ...addonManifest("teapots", offer),
        base_url: "https://addon.example.com/v2/resources",
        sso_url: "https://addon.example.com/sso/login",
      },
    });
    const bare = await kitJson(settings, ["manifest", "write", "-"]);
    expect(bare.code).toBe(0);
    expect(bare.data).not.toHaveProperty("sso_url");
  });

  it("with --reveal writes a file that only its owner can read, and prints no secret", async () => {
    const words = ["manifest", "write", at("whole.json"), "--reveal"];
    const { code, stdout, stderr } = await kit(secret, words);
    expect({ code, stderr, mode: modeOf("whole.json") }).toEqual({ code: 0, stderr: "", mode: "600" });
    expect(read("whole.json")).toMatchObject({ id: "teapots", password: PASSWORD, sso_salt: SALT });
    expect(stdout).toMatch(/Only you can\s+read it/);
    for (const each of [PASSWORD, SALT]) expect(stdout).not.toContain(each);
    const again = await kitJson(secret, [...words, "--overwrite"]);
    expect(again).toEqual({
      code: 0,
      data: { written: at("whole.json"), secrets: ["password", "sso_salt"] },
    });
  });

  it("overwrites a file only with --overwrite, and then makes it readable by its owner only", async () => {
    writeFileSync(at("kept.json"), "mine", { mode: 0o644 });
    const words = ["manifest", "write", at("kept.json"), "--reveal"];
    const { code, data } = await kitJson(secret, words);
    expect({ code, data }).toMatchObject({ code: 1, data: { id: "exists" } });
    expect(readFileSync(at("kept.json"), "utf8")).toBe("mine");
    expect((await kitJson(secret, [...words, "--overwrite"])).code).toBe(0);
    expect({ mode: modeOf("kept.json"), id: read("kept.json")["id"] }).toEqual({
      mode: "600",
      id: "teapots",
    });
    expect(readdirSync(folder).filter((name) => name.includes(".new"))).toEqual([]);
  });

  it.each([
    ["PUBLIC_URL", { ADDON_ID: "teapots" }, []],
    ["ADDON_ID", { PUBLIC_URL: "https://addon.example.com" }, []],
    ["ADDON_PASSWORD", settings, ["--reveal"]],
  ])("requires %s, and writes nothing without it", async (name, environment, options) => {
    const { code, stderr } = await kit(environment, ["manifest", "write", at("never.json"), ...options]);
    expect(code).toBe(78);
    expect(stderr).toContain(`${name} is required`);
    expect(existsSync(at("never.json"))).toBe(false);
  });

  it("with --reveal refuses the secrets that npm run dev generated", async () => {
    writeFileSync(
      at("dev.env"),
      "ADDON_ID=teapots\nADDON_PASSWORD=made-up-password\nSSO_SALT=made-up-salt-too\n",
    );
    const { PUBLIC_URL } = settings;
    const write = (environment: Record<string, string>, ...options: string[]) =>
      kit({ PUBLIC_URL, DATA_DIR: folder, ...environment }, [
        ...["manifest", "write", at("dev.json")],
        ...options,
      ]);
    const { code, stderr } = await write({}, "--reveal");
    expect({ code, stderr }).toEqual({
      code: 78,
      stderr: expect.stringMatching(/ADDON_ID, ADDON_PASSWORD, SSO_SALT .*\bnpm run dev\s+made/s),
    });
    expect(stderr).not.toContain("made-up");
    expect(existsSync(at("dev.json"))).toBe(false);
    const half = await write({ ADDON_ID: "teapots", ADDON_PASSWORD: PASSWORD }, "--reveal");
    expect([half.code, half.stderr]).toEqual([78, expect.stringMatching(/^\W*SSO_SALT was not set/)]);
    const whole = await write({ ADDON_ID: "teapots", ADDON_PASSWORD: PASSWORD, SSO_SALT: "" }, "--reveal");
    expect([whole.code, read("dev.json")["password"]]).toEqual([0, PASSWORD]);
    expect((await write({}, "--overwrite")).code).toBe(0);
  });

  it("says why a file cannot be written", async () => {
    const { code, data } = await kitJson<{ message: string }>(secret, [
      "manifest",
      "write",
      at("no/where.json"),
    ]);
    expect({ code, data }).toMatchObject({ code: 1, data: { id: "unwritable" } });
    expect(data.message).toContain("no such file or directory");
  });

  it("warns of an address over which the password could be read", async () => {
    const { code, stderr } = await kit({ ...settings, PUBLIC_URL: "http://addon.example.com" }, [
      "manifest",
      "write",
    ]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("not https") });
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

  it("contains the offer", () => {
    expect(addonManifest("teapots", offer)).not.toHaveProperty("requires");
    const asking = addonManifest("teapots", { ...offer, requires: ["log_input"] });
    expect(asking.requires).toEqual(["log_input"]);
  });
});

describe("a sandbox registered by the manifest file alone", () => {
  let world: World;
  beforeAll(async () => {
    await kit(secret, ["manifest", "write", at("registered.json"), "--reveal"]);
    const registered = settingsFromEnvironment({ SANDBOX_PORT: "0", ADDON_MANIFEST: at("registered.json") });
    expect(registered).toMatchObject({
      partnerUrl: "https://addon.example.com",
      resourcesPath: "/v2/resources",
    });
    // The service's password there is the platform's, which has it from the file.
    world = await aWorld({
      sandbox: registered,
      environment: { RESOURCES_PATH: "/v2/resources", SSO_SALT: SALT, SWEEP_CRON: "* * * * * *" },
    });
  }, 60_000);
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
  }, 60_000);

  it("signs customers on with the salt of the file", async () => {
    const { addon } = await world.sandbox.control.install({ plan: offer.defaultPlan });
    const { form } = world.sandbox.control.signOnForm(addon.id);
    expect(form).toEqual(signed(form, SALT));
    const sent = { method: "POST", body: new URLSearchParams(form), redirect: "manual" } as const;
    expect((await fetch(`${world.service.url}/sso/login`, sent)).status).toBe(303);
  });

  it("shows the secrets of the file nowhere", () => {
    const shown = JSON.stringify([world.sandbox.control.state(), world.sandbox.control.partner({})]);
    for (const each of [PASSWORD, SALT]) expect(shown).not.toContain(each);
  });
});
