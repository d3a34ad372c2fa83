import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { openConfig } from "./config-vars.ts";
import { resourcePlace, type ResourceRow } from "./rows.ts";

/**
 * Everything secret that the vendor's code knows of a resource, and may quote in an error: log addresses and config
 * values. Short values are words that stand everywhere, and are left out. What does not open is not known to anyone.
 */
export function secretsOf(vault: Vault, resource: ResourceRow): Secret[] {
  try {
    const { uuid, sealedLogInputUrl, sealedLogDrainToken } = resource;
    return [
      ...(sealedLogInputUrl
        ? [vault.open(resourcePlace("sealed_log_input_url", uuid), sealedLogInputUrl)]
        : []),
      ...(sealedLogDrainToken
        ? [vault.open(resourcePlace("sealed_log_drain_token", uuid), sealedLogDrainToken)]
        : []),
      ...openConfig(vault, resource)
        .filter(({ value }) => value !== null && value.length >= 8)
        .map(({ value }) => new Secret(value!)),
    ];
  } catch {
    return [];
  }
}
