import type { SealContext } from "./vault.ts";

// What each sealed secret is bound to: opened in another row or column, it fails.

type CredentialColumn = "sealed_grant_code" | "sealed_access_token" | "sealed_refresh_token";
type ResourceColumn = "sealed_answer" | "sealed_config" | "sealed_log_input_url" | "sealed_log_drain_token";

/** Of a credential. A person's pair keeps the name of the table where it stood first. */
export function credentialSealContext(
  column: CredentialColumn,
  uuid: string,
  owner: "resource" | "person" = "resource",
): SealContext {
  return { table: owner === "person" ? "people" : "credentials", column, uuid };
}

/** Of a version of the client secret, which stands in for a uuid. */
export function clientSecretSealContext(version: number): SealContext {
  return { table: "client_secrets", column: "sealed_secret", uuid: String(version) };
}

export function resourceSealContext(column: ResourceColumn, uuid: string): SealContext {
  return { table: "resources", column, uuid };
}
