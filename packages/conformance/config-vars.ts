import type { AddonManifest } from "../sandbox/index.ts";

/** Complaints about the values of a config, as sentences that contain none of the values. */
export function valueFaults(config: unknown): string[] {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return ["config is no object."];
  const strange = Object.entries(config).filter(([, value]) => typeof value !== "string");
  return strange.map(([name]) => `The value of ${name} is no text.`);
}

/** Complaints about the names of config vars; with a manifest, also about names that it does not declare. */
export function nameFaults(names: readonly string[], manifest: AddonManifest | null): string[] {
  const { config_vars: declared, config_vars_prefix: prefix = "" } = manifest ?? {};
  return names.flatMap((name) => {
    if (!/^_?[A-Za-z][A-Za-z0-9_]*$/.test(name)) return [`${JSON.stringify(name)} cannot name a variable.`];
    if (declared && !declared.includes(name)) return [`${name} is not declared in the manifest.`];
    return name.startsWith(prefix) ? [] : [`${name} does not begin with ${prefix}.`];
  });
}
