import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ManifestKeys } from "../../manifest/schema.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

/**
 * Checks whether the platform could make an app from the `app.json` in `folder`, and whether that app would start, for
 * which it needs the settings `required`. A deployment of `dist/` alone has none.
 */
export async function manifest(folder: string, required: readonly string[]): Promise<Finding> {
  const bytes = await readFile(path.join(folder, "app.json")).catch(() => null);
  if (bytes === null) return fine("There is no app.json here to be checked.");
  const { checkManifestText } = await import("../../manifest/check.ts");
  const { faults, manifest: whole } = checkManifestText(bytes);
  const errors = faults.filter(({ severity }) => severity === "error");
  if (!whole)
    return fault(
      `app.json breaks ${counted(errors.length, "rule")} of the platform: no app can be made from it.`,
      "See each with: kit manifest check app.json",
    );
  const { effectiveManifest } = await import("../../manifest/effective.ts");
  const missing = (app: ManifestKeys) => required.filter((name) => !isGiven(name, app));
  const told = [
    ...missing(whole).map((name) => `${name} is required, and app.json does not ask for it`),
    ...(whole.environments?.review ? missing(effectiveManifest(whole, "review")) : [])
      .filter((name) => !missing(whole).includes(name))
      .map((name) => `${name} is required, and app.json gives none to review apps`),
  ];
  if (told.length === 0) return fine("An app can be made from app.json.");
  return warning(`${told.join("; ")}: an app made from it does not start.`, ADD_IT);
}

const ADD_IT =
  'Add it there below "env", with a "description", and a "value" or "generator" where nobody is to be asked.';

/** Whether an app gets a setting: from `env`, or with an add-on whose variable it is. */
function isGiven(name: string, { env = {}, addons = [] }: ManifestKeys): boolean {
  const about = env[name];
  if (typeof about === "string") return about !== "";
  if (about) return about.required !== false || Boolean(about.value ?? about.generator);
  const prefixes = addons.map((addon) => (typeof addon === "string" ? undefined : addon.as));
  return name.endsWith("_URL") && prefixes.some((as) => as === undefined || name === `${as}_URL`);
}
