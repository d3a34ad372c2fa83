import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { openConfig } from "./config-vars.ts";
import { resourcePlace, type ResourceRow } from "./rows.ts";

/**
 * Everything secret that the vendor's code knows of a resource, and may quote in an error: log addresses and config
 * values. Short values are words that stand everywhere, and are left out. So is what does not open, and nothing besides.
 */
export function secretsOf(vault: Vault, resource: ResourceRow): Secret[] {
  const { uuid, sealedLogInputUrl, sealedLogDrainToken } = resource;
  const logSecret = (column: "sealed_log_input_url" | "sealed_log_drain_token", sealed: Buffer | null) =>
    sealed ? [vault.open(resourcePlace(column, uuid), sealed)] : [];
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
