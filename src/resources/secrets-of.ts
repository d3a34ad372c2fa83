import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { openConfig } from "./config-vars.ts";
import { resourceSealContext, type ResourceRow } from "./rows.ts";

/**
 * Every secret of a resource that the vendor's code knows and may quote in an error: log addresses and config values.
 * Config values shorter than 8 characters are left out, since they are common words. A secret that does not open is
 * left out too; the others are still returned.
 */
export function secretsOf(vault: Vault, resource: ResourceRow): Secret[] {
  const { uuid, sealedLogInputUrl, sealedLogDrainToken } = resource;
  const logSecret = (column: "sealed_log_input_url" | "sealed_log_drain_token", sealed: Buffer | null) =>
    sealed ? [vault.open(resourceSealContext(column, uuid), sealed)] : [];
  const configValues = () =>
    openConfig(vault, resource)
      .filter(({ value }) => value !== null && value.length >= 8)
      .map(({ value }) => new Secret(value!));
  return [
    ...orNone(() => logSecret("sealed_log_input_url", sealedLogInputUrl)),
    ...orNone(() => logSecret("sealed_log_drain_token", sealedLogDrainToken)),
    ...orNone(configValues),
  ];
}

function orNone(open: () => Secret[]): Secret[] {
  try {
    return open();
  } catch {
    return [];
  }
}
