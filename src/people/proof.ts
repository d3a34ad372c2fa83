import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";

// Rows of people and of sessions decide who is an operator, and whose resource somebody sees. Each bears a keyed hash over
// what it says, so that who can only write to the database, without `ENCRYPTION_KEY`, makes nobody of himself.

type Needs = { vault: Vault };
type Table = "people" | "sessions" | "customer_sessions";
type Row = readonly (string | boolean | null | Uint8Array)[];

export function proofOf(
  { vault }: Needs,
  table: Table,
  row: Row,
  keyId = vault.keyId,
): Uint8Array<ArrayBuffer> {
  return vault.hash(new Secret(JSON.stringify([`proof of ${table}`, ...row.map(asStored)])), keyId);
}

/** Also by a key that has been rotated since. */
export function isProven(needs: Needs, table: Table, row: Row, proof: Uint8Array | null): boolean {
  const isRight = (keyId: string) => Buffer.from(proof!).equals(proofOf(needs, table, row, keyId));
  return proof !== null && needs.vault.keyIds.some(isRight);
}

/** As the database returns it: bytes in hex, and a text without halves of characters. */
function asStored(value: Row[number]): string | boolean | null {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return typeof value === "string" ? value.toWellFormed() : value;
}
