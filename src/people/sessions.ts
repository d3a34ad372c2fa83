import type { Session } from "../database/client/client.ts";
import { type Database, retryWhileUnreachable } from "../database/database.ts";
import { statement } from "../database/statement.ts";
import type { Log } from "../logging/log.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";

// What the sessions of people and of customers have in common. The database's clock alone decides how long they last, so
// nearly all is SQL. An id exists in one browser's cookie and nowhere else; stored is its keyed hash.

export type Needs = { db: Database; vault: Vault };
/** For finding a session: one that is refused is logged. */
export type Finding = Needs & { log: Log };

type Table = "sessions" | "customer_sessions";

/** What is hashed is labelled: the same id has another hash for another purpose. */
const LABELS = { sessions: "session", customer_sessions: "customer" };

export function hashOf({ vault }: Needs, table: Table, id: Secret, keyId = vault.keyId): Session["idHash"] {
  return vault.hash(new Secret(`${LABELS[table]}:${id.reveal()}`), keyId);
}

/** Finds ids stored before a key rotation too. */
export function hashesOf(needs: Needs, table: Table, id: Secret): Session["idHash"][] {
  return needs.vault.keyIds.map((keyId) => hashOf(needs, table, id, keyId));
}

export const patiently = <T>(work: () => Promise<T>) => retryWhileUnreachable(work, { upToMs: 4_000 });
/** One that nobody used for an hour ends, however much of its time is left. */
export const IS_IN_USE = `seen_at > now() - interval '60 minutes'`;

export type Hashes = { hashes: readonly Uint8Array[] };

const noteUse = (table: Table) =>
  statement<Hashes>(`note_${table}`).sql(
    `UPDATE ${table} SET seen_at = now() WHERE id_hash = ANY(:hashes::bytea[])
       -- Most requests change no row.
       AND seen_at < now() - interval '5 minutes'`,
  );
const NOTE_USE = { sessions: noteUse("sessions"), customer_sessions: noteUse("customer_sessions") };

export function refused({ log }: Finding, about: { table: Table; person?: string; uuid?: string }): null {
  log.warn(about, "A session is refused, because its rows in the database were not written by this service");
  return null;
}

/** Not needed for the answer: if it cannot be stored, it is with the next request. */
export async function used({ db }: Needs, table: Table, hashes: readonly Uint8Array[]): Promise<void> {
  await db.query(NOTE_USE[table], { hashes }).catch(() => undefined);
}
