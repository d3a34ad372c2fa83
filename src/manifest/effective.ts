import type { EnvironmentName, Manifest, ManifestKeys } from "./schema.ts";

/**
 * What the platform makes an app of: each key of the environment replaces the whole of the manifest's key, an empty one
 * too (platform document, "`environments` rule"). Everything stays as it was written, string and object forms and keys
 * that nobody knows; `environments` and the editor's `$schema` are gone.
 */
export function effectiveManifest(manifest: Manifest, environment?: EnvironmentName): ManifestKeys {
  const own = environment && manifest.environments?.[environment];
  const { $schema: _schema, environments: _environments, ...app }: Manifest = { ...manifest, ...own };
  return app;
}
