import type { Place } from "../../vault/vault.ts";

export type TokenColumn = "sealed_access_token" | "sealed_refresh_token";

/** Where a person's token is sealed. */
export function personPlace(column: TokenColumn, uuid: string): Place {
  return { table: "people", column, uuid };
}
