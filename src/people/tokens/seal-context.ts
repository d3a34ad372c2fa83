import type { SealContext } from "../../vault/vault.ts";

export type TokenColumn = "sealed_access_token" | "sealed_refresh_token";

/** What a person's sealed token is bound to. */
export function personSealContext(column: TokenColumn, uuid: string): SealContext {
  return { table: "people", column, uuid };
}
