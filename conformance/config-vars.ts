import type { AddonManifest } from "../sandbox/index.ts";

/** What is wrong with a config's values, in sentences that show none of them. */
export function valueFaults(config: unknown): string[] {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return ["config is no object."];
  const strange = Object.entries(config).filter(([, value]) => typeof value !== "string");
  return strange.map(([name]) => `The value of ${name} is no text.`);
}

/** What is wrong with the names of config vars; with a manifest, also what it does not declare. */
export function nameFaults(names: readonly string[], manifest: AddonManifest | null): string[] {
  const { config_vars: declared, config_vars_prefix: prefix = "" } = manifest ?? {};
  return names.flatMap((name) => {
    if (!/^_?[A-Za-z][A-Za-z0-9_]*$/.test(name)) return [`${JSON.stringify(name)} cannot name a variable.`];
    if (declared && !declared.includes(name)) return [`${name} is not declared in the manifest.`];
    return name.startsWith(prefix) ? [] : [`${name} does not begin with ${prefix}.`];
  });
}
