import type { Place } from "../../vault/vault.ts";

export type TokenColumn = "sealed_access_token" | "sealed_refresh_token";

/** The place that a person's sealed token is bound to. */
export function personPlace(column: TokenColumn, uuid: string): Place {
  return { table: "people", column, uuid };
}
