import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { readConfig, settings, type Environment } from "../src/config.ts";

const pathOf = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const read = (name: string) => readFileSync(pathOf(name), "utf8");

interface Variable {
  description?: string;
  value?: string;
  required?: boolean;
  generator?: string;
}
interface Manifest {
  name: string;
  description: string;
  keywords: string[];
  env: Record<string, string | Variable>;
  formation: Record<string, { quantity: number; size?: string }>;
  addons: { plan: string; as?: string }[];
  scripts: Record<string, string>;
  environments: Record<string, Partial<Manifest>>;
}

const manifest = JSON.parse(read("app.json")) as Manifest;
const known = Object.values(settings).map(({ name, about, standard }: Setting) => ({
  name,
  about,
  standard,
}));
const required = known.filter(({ standard }) => standard === undefined).map(({ name }) => name);
/** Not required of a service whose database holds one, but of every new one. */
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

describe(".env.example", () => {
  const lines = read(".env.example")
    .split("\n")
    .filter((line) => /^(# )?[A-Z_]+=/.test(line));
  const shown = lines.map((line) => {
    const [, out, name, value, about] = /^(# )?([A-Z_]+)=(\S*|".*") +# (.+)$/.exec(line) ?? [];
    return { isSet: out === undefined, name, value: value?.replace(/^"|"$/g, ""), about };
  });

  it("has one line for every setting there is, in the settings' own words, and no other", () => {
    const byName = (a: { name?: string | undefined }, b: { name?: string | undefined }) =>
      a.name! < b.name! ? -1 : 1;
    expect(shown.map(({ name, about }) => ({ name, about })).sort(byName)).toEqual(
      known.map(({ name, about }) => ({ name, about })).sort(byName),
    );
  });

  it("asks for what is required, and shows what counts in place of the rest", () => {
    expect(
      shown
        .filter(({ isSet }) => isSet)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...wanted].sort());
    for (const { name, value, isSet } of shown)
      expect(`${name}=${value}`).toBe(
        `${name}=${isSet ? "" : known.find((each) => each.name === name)!.standard}`,
      );
  });

  it("starts nothing as it is, and says of everything required that it is", () => {
    const asItIs = parseEnv(read(".env.example")) as Environment;
    for (const name of required) expect(() => readConfig(asItIs)).toThrow(`\n  ${name} is required`);
    const uncommented = parseEnv(lines.map((line) => line.replace(/^# /, "")).join("\n")) as Environment;
    expect(() => readConfig(uncommented)).toThrow(`${required.length} settings need mending`);
  });
});

describe("app.json", () => {
  it("uses only the keys that a manifest has", () => {
    const keys =
      "name description keywords website repository logo success_url stack env formation addons buildpacks scripts environments";
    expect(keys.split(" ")).toEqual(expect.arrayContaining(Object.keys(manifest)));
    expect(manifest.name.length).toBeLessThanOrEqual(30);
    expect(manifest.description.length).toBeLessThanOrEqual(100);
    expect(manifest.keywords.every((word) => typeof word === "string")).toBe(true);
  });

  it("has no environments but test and review, which hold keys of a manifest", () => {
    expect(Object.keys(manifest.environments).sort()).toEqual(["review", "test"]);
    for (const environment of Object.values(manifest.environments))
      expect(Object.keys(manifest)).toEqual(expect.arrayContaining(Object.keys(environment)));
  });

  const environments = { base: manifest, ...manifest.environments } as Record<string, Partial<Manifest>>;
  it.each(Object.keys(environments))("describes each variable of %s, a setting there is", (name) => {
    for (const [variable, about] of Object.entries(environments[name]!.env ?? {})) {
      expect(known.map((each) => each.name)).toContain(variable);
      expect(about).toEqual({
        description: expect.any(String),
        ...(typeof about === "object" && "value" in about && { value: expect.any(String) }),
        ...(typeof about === "object" && "required" in about && { required: expect.any(Boolean) }),
        ...(typeof about === "object" && "generator" in about && { generator: "secret" }),
      });
    }
  });

  it.each(["base", "review"])("asks, gives or makes up everything that a new service of %s needs", (name) => {
    // Each key of an environment replaces the base's as a whole.
    const env = environments[name]!.env as Record<string, Variable>;
    const needed = (variable: string) => env[variable] && env[variable].required !== false;
    expect(wanted.filter((variable) => !needed(variable))).toEqual([]);

    const filled = Object.entries(env).map(([variable, { value, generator }]) => [
      variable,
      value ?? (generator ? randomBytes(32).toString("hex") : typedIn(variable)),
    ]);
    expect(() => readConfig(Object.fromEntries(filled) as Environment)).not.toThrow();
  });

  it("makes up what nobody else must know, and writes no secret down", () => {
    for (const { env = {} } of Object.values(environments)) {
      for (const [variable, about] of Object.entries(env as Record<string, Variable>))
        if (/KEY|SECRET|PASSWORD/.test(variable)) expect(about).not.toHaveProperty("value");
    }
    expect(manifest.env["ENCRYPTION_KEY"]).toMatchObject({ generator: "secret" });
  });

  it("lets no review app near the platform: every address there is nowhere", () => {
    const { env = {} } = manifest.environments["review"]!;
    for (const [variable, about] of Object.entries(env as Record<string, Variable>))
      if (variable.startsWith("PLATFORM_")) expect(about.value).toMatch(/^https:\/\/[a-z]+\.invalid$/);
  });

  it("brings the PostgreSQL whose address is read from DATABASE_URL", () => {
    expect(manifest.addons).toEqual([{ plan: "postgresql", as: "DATABASE" }]);
    expect(settings.databaseUrl.name).toBe("DATABASE_URL");
  });

  it("runs one web process, which also runs the jobs", () => {
    expect(manifest.formation).toEqual({ web: { quantity: 1 }, worker: { quantity: 0 } });
    expect(manifest.env["WEB_JOBS"]).toMatchObject({ value: "on" });
  });

  it("forms the processes of the Procfile, and runs only what is there", () => {
    expect(Object.keys(processes).sort()).toEqual([...Object.keys(manifest.formation), "release"].sort());
    const commands = [...Object.values(processes), ...Object.values(manifest.scripts)];
    expect(Object.keys(manifest.scripts)).toEqual(["postdeploy"]);
    for (const command of commands) {
      const [, file] = /^node dist\/([\w/-]+)\.js( \w+)?$/.exec(command) ?? [];
      expect(existsSync(pathOf(`src/${file}.ts`))).toBe(true);
    }
  });
});

/** What a person puts into the form that asks for it. */
function typedIn(variable: string): string {
  return /_URL$/.test(variable) ? "https://api.example.com" : "typed-in-by-a-person";
}
