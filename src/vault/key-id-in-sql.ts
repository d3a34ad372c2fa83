import { KEY_ID_BYTES } from "./key-ring.ts";

/** SQL for the id of the key that sealed the envelope in `column`, in hex: it stands after the version byte. */
export function keyIdInSql(column: string): string {
  return `encode(substring(${column} FROM 2 FOR ${KEY_ID_BYTES}), 'hex')`;
}
