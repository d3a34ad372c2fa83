import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { readConfig, wrongNames, settings } from "../../src/config.ts";
import type { Environment } from "../../src/environment.ts";
import { checkManifestText, type ManifestReport } from "../../src/manifest/check.ts";
import { effectiveManifest } from "../../src/manifest/effective.ts";
import type { Manifest } from "../../src/manifest/schema.ts";
import { Secret } from "../../src/secret.ts";
import { composeServices, composeText } from "../support/compose.ts";
import { yourSettings } from "../../src/your-service/settings.ts";

const pathOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const read = (name: string) => readFileSync(pathOf(name), "utf8");

const { manifest, faults } = checkManifestText(read("app.json")) as Required<ManifestReport>;
/** What an app of each kind is made from. */
const apps = {
  base: effectiveManifest(manifest),
  test: effectiveManifest(manifest, "test"),
  review: effectiveManifest(manifest, "review"),
};
type AppName = keyof typeof apps;
/** Config vars that the manifest's add-ons set. */
const setByAddons = (name: AppName) =>
  (apps[name].addons ?? []).flatMap((addon) =>
    typeof addon === "object" && addon.as ? [`${addon.as}_URL`] : [],
  );
const variablesOf = (name: AppName) => Object.entries(apps[name].env ?? {}) as [string, Variable][];
type Variable = Exclude<NonNullable<Manifest["env"]>[string], string>;

/** The kit's, and those of src/your-service. */
const known = Object.values({ ...settings, ...yourSettings }).map(({ name, about, standard }: Setting) => ({
  name,
  about,
  standard,
}));
const required = known.filter(({ standard }) => standard === undefined).map(({ name }) => name);
/** Not required if the database holds one, but required for every new service. */
const wanted = [...required, "CLIENT_SECRET"];

interface Setting {
  name: string;
  about: string;
  standard?: string;
}

const processes = Object.fromEntries(
  read("Procfile")
    .trim()
    .split("\n")
    .map((line) => /^(\w+): (.+)$/.exec(line)!.slice(1)),
) as Record<string, string>;

it("no setting of src/your-service has a reserved or invalid name", () => {
  expect(wrongNames(yourSettings)).toEqual([]);
});

/** The value that a new app gets; empty if a person is asked for it or it is generated. */
const valueInApp = (name: string) => variablesOf("base").find(([each]) => each === name)?.[1].value ?? "";

describe(".env.example", () => {
  const lines = read(".env.example")
    .split("\n")
    .filter((line) => /^(# )?[A-Z][A-Z0-9_]*=/.test(line));
  const shown = lines.map((line) => {
    const [, out, name, value, about] = /^(# )?([A-Z][A-Z0-9_]*)=(\S*|".*") +# (.+)$/.exec(line) ?? [];
    return { isSet: out === undefined, name, value: value?.replace(/^"|"$/g, ""), about };
  });

  it("has one line for every setting, with the setting's own description, and no other", () => {
    const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }) =>
      a.name! < b.name! ? -1 : 1;
    expect(shown.map(({ name, about }) => ({ name, about })).sort(byName)).toEqual(
      known.map(({ name, about }) => ({ name, about })).sort(byName),
    );
  });

  it("shows required settings empty, or with the value of app.json, and others with their default", () => {
    expect(
      shown
        .filter(({ isSet }) => isSet)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...wanted].sort());
    for (const { name, value, isSet } of shown)
      expect(`${name}=${value}`).toBe(
        `${name}=${isSet ? valueInApp(name!) : known.find((each) => each.name === name)!.standard}`,
      );
  });

  it("starts nothing unchanged, and reports every required setting", () => {
    const asItIs = parseEnv(read(".env.example")) as Environment;
    const missing = required.filter((name) => valueInApp(name) === "");
    for (const name of missing) expect(() => readConfig(asItIs)).toThrow(`\n  ${name} is required`);
    const uncommented = parseEnv(lines.map((line) => line.replace(/^# /, "")).join("\n")) as Environment;
    expect(() => readConfig(uncommented)).toThrow(`${missing.length} settings need mending`);
  });
});

describe("compose.yaml", () => {
  const services = composeServices(parseEnv(read("ops/sandbox.env")) as Environment);
  const names = (service: string) => Object.keys(services[service]!.environment!);
  const ofSandbox = ["PARTNER_URL", "SANDBOX_HOST", "SANDBOX_STATE", "SANDBOX_TOKEN"];

  it.each(["migrate", "web", "worker", "sandbox"])("gives %s only settings that exist", (service) => {
    const all = [...known.map(({ name }) => name), ...(service === "sandbox" ? ofSandbox : [])];
    expect(names(service).filter((name) => !all.includes(name))).toEqual([]);
  });

  it("gives the service what it needs, and asks for it", () => {
    for (const service of ["migrate", "web", "worker"])
      expect(names(service)).toEqual(expect.arrayContaining(wanted));
    const asked = wanted.map((name) => (name === "DATABASE_URL" ? "DATABASE_PASSWORD" : name));
    expect(asked.filter((name) => !composeText.includes(`\${${name}:?`))).toEqual([]);
  });
});

describe("app.json", () => {
  it("is a valid app manifest", () => {
    expect(faults.filter(({ severity }) => severity === "error")).toEqual([]);
  });

  it("has a description of at most 100 characters", () => {
    expect(manifest.description!.length).toBeLessThanOrEqual(100);
  });

  it.each(Object.keys(apps) as AppName[])(
    "describes each variable of %s, which is a known setting",
    (name) => {
      for (const [variable, about] of variablesOf(name)) {
        // Variables of Node and npm themselves, such as NODE_OPTIONS, are no settings of the kit.
        if (!/^(NODE|NPM)_/.test(variable)) expect(known.map((each) => each.name)).toContain(variable);
        expect(about).toMatchObject({ description: expect.any(String) });
      }
    },
  );

  it.each(["base", "review"] as const)(
    "asks for, sets or generates everything that a new service of %s needs",
    (name) => {
      const env = variablesOf(name);
      const asked = env.filter(([, { required }]) => required !== false).map(([variable]) => variable);
      expect([...asked, ...setByAddons(name)]).toEqual(expect.arrayContaining(wanted));

      const filled = env.map(([variable, { value, generator }]) => [
        variable,
        value ?? (generator ? randomBytes(32).toString("hex") : typedIn(variable)),
      ]);
      filled.push(...setByAddons(name).map((variable) => [variable, typedIn(variable)]));
      // Valid values of a fork's settings are not known here, only that they are asked for.
      expect(() => readConfig(Object.fromEntries(filled) as Environment, undefined, {})).not.toThrow();
    },
  );

  it("generates secrets, and contains none", () => {
    for (const name of Object.keys(apps) as AppName[]) {
      for (const [variable, about] of variablesOf(name))
        if (isSecret(variable)) expect(about).not.toHaveProperty("value");
    }
    expect(manifest.env!["ENCRYPTION_KEY"]).toMatchObject({ generator: "secret" });
  });

  it("has the processes of the Procfile, and starts only existing files", () => {
    expect(Object.keys(processes).sort()).toEqual([...Object.keys(manifest.formation!), "release"].sort());
    const commands = [...Object.values(processes), ...(Object.values(manifest.scripts!) as string[])];
    expect(Object.keys(manifest.scripts!)).toEqual(["postdeploy"]);
    for (const command of commands) {
      const [, file] =
        /^(?:env -u MIGRATION_DATABASE_URL )?node (?:--\S+ )*dist\/([\w/-]+)\.js( \w+)?$/.exec(command) ?? [];
      expect(existsSync(pathOf(`src/${file}.ts`))).toBe(true);
    }
  });
});

/** As your settings read it; the kit's own are recognised by their names. */
function isSecret(variable: string): boolean {
  const yours = Object.values<Reader>(yourSettings).find(({ name }) => name === variable);
  return yours ? becomesSecret(yours) : /KEY|SECRET|PASSWORD/.test(variable);
}

interface Reader {
  name: string;
  read(text: string, insecure: boolean): unknown;
}

function becomesSecret({ read }: Reader): boolean {
  const texts = [randomBytes(32).toString("hex"), "postgresql://user:password@db.example.com/product"];
  return texts.some((text) => {
    try {
      return read(text, false) instanceof Secret;
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
