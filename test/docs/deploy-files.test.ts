// A deploy's files beside the settings, the kit's and those of src/your-service: .env.example, compose.yaml, app.json and
// the Procfile.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { readConfig, settings } from "../../src/config.ts";
import type { Environment } from "../../src/environment.ts";
import {
  checkManifestText,
  effectiveManifest,
  type Manifest,
  type ManifestReport,
} from "../../src/manifest/check.ts";
import { Secret } from "../../src/secret.ts";
import { type Settings, settingsIn } from "../../src/setting.ts";
import { yourSettings } from "../../src/your-service/settings.ts";
import { composeServices, composeText } from "../support/compose.ts";

const fileOf = (name: string) => new URL(`../../${name}`, import.meta.url);
const read = (name: string) => readFileSync(fileOf(name), "utf8");

interface Setting {
  name: string;
  about: string;
  standard?: string;
  read(text: string, insecure: boolean): unknown;
}
const known: Setting[] = settingsIn({ ...settings, ...yourSettings });
const knownNames = known.map(({ name }) => name);
const required = known.filter(({ standard }) => standard === undefined).map(({ name }) => name);
/** Not required if the database holds one, but required for every new service. */
const wanted = [...required, "CLIENT_SECRET"];

type Variable = Exclude<NonNullable<Manifest["env"]>[string], string>;
const { manifest, faults } = checkManifestText(read("app.json")) as Required<ManifestReport>;
/** What an app of each kind is made from. */
const apps = {
  base: effectiveManifest(manifest),
  test: effectiveManifest(manifest, "test"),
  review: effectiveManifest(manifest, "review"),
};
const variablesOf = (app: keyof typeof apps) => Object.entries(apps[app].env ?? {}) as [string, Variable][];
const setByAddons = (app: keyof typeof apps) =>
  (apps[app].addons ?? []).flatMap((each) => (typeof each === "object" && each.as ? [`${each.as}_URL`] : []));
/** The value that a new app gets; empty if a person is asked for it or it is generated. */
const valueInApp = (name: string) => variablesOf("base").find(([each]) => each === name)?.[1].value ?? "";

it("no setting of src/your-service has a reserved or invalid name", () => {
  const namesIn = (table: Settings) => settingsIn(table).map(({ name }) => name);
  const isGood = (name: string) => /^[A-Z_][A-Z0-9_]*$/.test(name) && !namesIn(settings).includes(name);
  expect(namesIn(yourSettings).filter((name) => !isGood(name))).toEqual([]);
});

describe(".env.example", () => {
  const lines = read(".env.example")
    .split("\n")
    .filter((line) => /^(# )?[A-Z][A-Z0-9_]*=/.test(line));

  it("has one line for every setting: its description, and its default commented out, or what app.json gives", () => {
    const expected = known.map(({ name, about, standard }) => {
      const isSet = wanted.includes(name);
      return { name, about, isSet, value: isSet ? valueInApp(name) : standard };
    });
    const shown = lines.map((line) => {
      const [, out, name, value, about] = /^(# )?([A-Z][A-Z0-9_]*)=(\S*|".*") +# (.+)$/.exec(line) ?? [];
      return { name: name!, about, isSet: out === undefined, value: value?.replace(/^"|"$/g, "") };
    });
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(shown.sort(byName)).toEqual(expected.sort(byName));
  });

  it("starts nothing unchanged, and reports every required setting", () => {
    const missing = required.filter((name) => valueInApp(name) === "");
    const asItIs = parseEnv(read(".env.example")) as Environment;
    for (const name of missing) expect(() => readConfig(asItIs)).toThrow(`\n  ${name} is required`);
  });
});

describe("compose.yaml", () => {
  const services = composeServices(parseEnv(read("ops/sandbox.env")) as Environment);
  const names = (service: string) => Object.keys(services[service]!.environment!);
  const ofSandbox = ["PARTNER_URL", "SANDBOX_HOST", "SANDBOX_STATE", "SANDBOX_TOKEN"];
  // OpenTelemetry reads its own.
  const isKnown = (name: string) => name.startsWith("OTEL_") || [...knownNames, ...ofSandbox].includes(name);

  it("gives each service only settings that exist, and all that it needs, or asks for it", () => {
    for (const service of ["migrate", "web", "worker", "sandbox"])
      expect(names(service).filter((name) => !isKnown(name))).toEqual([]);
    for (const service of ["migrate", "web", "worker"])
      expect([service, wanted.filter((name) => !names(service).includes(name))]).toEqual([service, []]);
    // The container's own; its database is the one beside it.
    const ofContainer = ["HOST", "PORT", "DATABASE_CA", "MIGRATION_DATABASE_URL"];
    expect(knownNames.filter((name) => ![...names("web"), ...ofContainer].includes(name))).toEqual([]);
    const asked = wanted.map((name) => (name === "DATABASE_URL" ? "DATABASE_PASSWORD" : name));
    expect(asked.filter((name) => !composeText.includes(`\${${name}:?`))).toEqual([]);
  });
});

describe("app.json", () => {
  it("is a valid app manifest, with a description of at most 100 characters", () => {
    expect(faults.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(manifest.description!.length).toBeLessThanOrEqual(100);
  });

  it.each(["base", "test", "review"] as const)("has only settings that exist, and no secret: %s", (app) => {
    for (const [name, about] of variablesOf(app)) {
      // Variables of Node and npm themselves, such as NODE_OPTIONS, are no settings of the kit.
      if (!/^(NODE|NPM)_/.test(name)) expect(knownNames).toContain(name);
      expect(about).toMatchObject({ description: expect.any(String) });
      if (isSecret(name)) expect(about).not.toHaveProperty("value");
    }
  });

  it.each(["base", "review"] as const)("asks for, sets or generates all that a service needs: %s", (app) => {
    const env = variablesOf(app);
    const asked = env.filter(([, each]) => each.required !== false).map(([name]) => name);
    const given = [...asked, ...setByAddons(app)];
    expect([app, wanted.filter((name) => !given.includes(name))]).toEqual([app, []]);
    const filled = env.map(([name, { value, generator }]) => [
      name,
      value ?? (generator ? randomBytes(32).toString("hex") : typedIn(name)),
    ]);
    filled.push(...setByAddons(app).map((name) => [name, typedIn(name)]));
    // Valid values of a fork's settings are not known here, only that they are asked for.
    expect(() => readConfig(Object.fromEntries(filled) as Environment, undefined, {})).not.toThrow();
  });

  it("has the processes of the Procfile, and starts only files that exist", () => {
    const processes = read("Procfile").trim().split("\n").map((line) => /^(\w+): (.+)$/.exec(line)!.slice(1)); // prettier-ignore
    const named = [...Object.keys(manifest.formation!), "release"];
    expect(processes.map(([name]) => name).sort()).toEqual(named.sort());
    const commands = [...processes.map(([, each]) => each!), ...Object.values(manifest.scripts as object)];
    for (const command of commands)
      expect(existsSync(fileOf(`src/${/ dist\/([\w/-]+)\.js/.exec(String(command))?.[1]}.ts`))).toBe(true);
  });
});

/** As your settings read it; the kit's own are recognised by their names. */
function isSecret(variable: string): boolean {
  const yours = settingsIn(yourSettings).find(({ name }) => name === variable);
  if (!yours) return /KEY|SECRET|PASSWORD/.test(variable);
  const texts = [randomBytes(32).toString("hex"), "postgresql://user:password@db.example.com/product"];
  return texts.some((text) => {
    try {
      return yours.read(text, false) instanceof Secret;
    } catch {
      return false;
    }
  });
}

/** A value that a person types into the form, or an add-on sets. */
function typedIn(variable: string): string {
  if (variable === "DATABASE_URL") return "postgresql://user:password@db.example.com/addon";
  return /_URL$/.test(variable) ? "https://api.example.com" : "typed-in-by-a-person";
}
