import type { Session } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import type { Log } from "../logging/log.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";

// What the sessions of people and of customers have in common. The database's clock alone decides how long they last. An id
// exists in one browser's cookie and nowhere else; stored is its keyed hash.

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
/** One that nobody used for so long ends, however much of its time is left. */
export const IDLE_MINUTES = 60;
export const IS_IN_USE = `seen_at > now() - interval '${IDLE_MINUTES} minutes'`;
/** A use is stored if none was for so long, so that most requests change no row. */
export const NOTED_MINUTES = 5;

export type Hashes = { hashes: readonly Uint8Array[] };

export function refused({ log }: Finding, about: { table: Table; person?: string; uuid?: string }): null {
  log.warn(about, "A session is refused, because its rows in the database were not written by this service");
  return null;
}

/** Of a use that cannot be stored: it is stored with the next request. */
export const isNotNeeded = () => undefined;
