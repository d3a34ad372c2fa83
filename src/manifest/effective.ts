import type { EnvironmentName, Manifest, ManifestKeys } from "./schema.ts";

/**
 * The manifest from which the platform makes an app. Each key of the environment replaces the whole key of the
 * manifest, even if it is empty (platform document, "`environments` rule"). Everything else stays as written, string
 * and object forms and unknown keys; `environments` and the editor's `$schema` are removed.
 */
export function effectiveManifest(manifest: Manifest, environment?: EnvironmentName): ManifestKeys {
  const own = environment && manifest.environments?.[environment];
  const { $schema: _schema, environments: _environments, ...app }: Manifest = { ...manifest, ...own };
  return app;
}
