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

/** An app manifest that satisfies every rule of the document's table ("App manifest"). */
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

/** Reads a manifest. Throws with all violations, each with its JSON pointer, if it breaks a rule. */
export function readManifest(document: unknown): Manifest {
  const faults = manifestRule(document, "");
  if (faults.length > 0) {
    const sentences = faults.map(({ pointer, message }) => `${pointer || "It"} ${message}.`);
    throw invalid(`The app manifest cannot be used. ${sentences.join(" ")}`);
  }
  return document as Manifest;
}

/** The manifest for one environment: each key given for it replaces the whole value of the base; nothing is merged. */
export function manifestFor(
  { environments, ...base }: Manifest,
  environment: Environment | null,
): Omit<Manifest, "environments"> {
  return environment === null ? base : { ...base, ...environments?.[environment] };
}
