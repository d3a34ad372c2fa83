import { invalid } from "../refusal.ts";
import { manifestRule } from "./manifest-rules.ts";

export type Environment = "test" | "review";

export interface EnvEntry {
  description?: string;
  value?: string;
  required?: boolean;
  generator?: "secret";
}

export interface AddonEntry {
  plan: string;
  as?: string;
  options?: Record<string, unknown>;
}

export interface Script {
  command: string;
  size?: string;
}

/** An app manifest that keeps every rule of the document's table ("App manifest"). */
export interface Manifest {
  name?: string;
  description?: string;
  keywords?: string[];
  website?: string;
  repository?: string;
  logo?: string;
  success_url?: string;
  stack?: string;
  image?: string;
  env?: Record<string, string | EnvEntry>;
  formation?: Record<string, { quantity?: number; size?: string }>;
  addons?: (string | AddonEntry)[];
  buildpacks?: { url: string }[];
  scripts?: { postdeploy?: string | Script; "pr-predestroy"?: string | Script };
  environments?: Partial<Record<Environment, Omit<Manifest, "environments">>>;
}

/** Reads a manifest; one that breaks a rule anywhere is refused with all that is wrong, each with its JSON pointer. */
export function readManifest(document: unknown): Manifest {
  const faults = manifestRule(document, "");
  if (faults.length > 0) {
    const sentences = faults.map(({ pointer, message }) => `${pointer || "It"} ${message}.`);
    throw invalid(`The app manifest cannot be used. ${sentences.join(" ")}`);
  }
  return document as Manifest;
}

/** What holds in an environment: each key given for it replaces the whole of the base's, nothing is merged. */
export function manifestFor(
  { environments, ...base }: Manifest,
  environment: Environment | null,
): Omit<Manifest, "environments"> {
  return environment === null ? base : { ...base, ...environments?.[environment] };
}
