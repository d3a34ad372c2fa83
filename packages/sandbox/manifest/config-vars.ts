import { randomBytes } from "node:crypto";
import { invalid } from "../refusal.ts";
import type { EnvEntry, Manifest } from "./manifest.ts";

/**
 * The config vars of a new app: the value filled in by the person, else the generated one, else the default. Throws
 * when a required one has no value.
 */
export function firstConfigVars(
  env: Manifest["env"] = {},
  given: Record<string, string> = {},
): Record<string, string> {
  const values = Object.entries(env).map(
    ([name, entry]) => [name, Object.hasOwn(given, name) ? given[name] : valueOf(entry)] as const,
  );
  const missing = values.filter(([name, value]) => value === undefined && isRequired(env[name]!));
  if (missing.length > 0) {
    const names = missing.map(([name]) => `/env/${name}`).join(", ");
    throw invalid(
      `Required config vars have no value: ${names}. Give them in env, as a person fills in a form.`,
    );
  }
  const filled = values.filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(filled), ...given };
}

function valueOf(entry: string | EnvEntry): string | undefined {
  if (typeof entry === "string") return entry;
  return entry.generator === "secret" ? randomBytes(32).toString("hex") : entry.value;
}

/** A string is a value itself; an object is required unless it says otherwise. */
function isRequired(entry: string | EnvEntry): boolean {
  return typeof entry !== "string" && entry.required !== false;
}
