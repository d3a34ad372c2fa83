import { createHash } from "node:crypto";
import { statement, retryWhileDatabaseAway, type Database } from "../database/database.ts";
import type { Account } from "../platform/account.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { IS_IN_USE, IS_TO_NOTE } from "./idle.ts";
import { hashesOf, hashOf, randomId } from "./random-id.ts";

/** How long a session lasts at most; it ends earlier when it is not used (idle.ts). */
export const SESSION_SECONDS = 12 * 3600;

/** A signed-in person, as the parts of the service see them. */
export interface Person {
  /** The platform's id of the account. */
  id: string;
  email: string;
  /** Whether the platform says that it has verified the e-mail. */
  isEmailVerified: boolean;
  name: string | null;
  scopes: string[];
  signedInAt: Date;
  sessionEndsAt: Date;
}

/**
 * A session that has not expired. `isRefused`: the platform no longer accepts this person's tokens, so they must sign
 * in again.
 */
export interface Session {
  person: Person;
  isRefused: boolean;
}

/** A person who has just signed in, with sealed tokens. */
export interface NewPerson extends Account {
  scopes: string[];
  access: Uint8Array;
  refresh: Uint8Array | null;
  lifeSeconds: number;
}

const PATIENCE = { upToMs: 4_000 };

// One statement uses up the state and writes person and session, so that none exists without the others. New tokens replace the old pair
// and raise the lease number (fencing), so what a refresh of the old pair brings later is not stored. Nor is it if the
// old row was deleted with the last session and this row counts its leases from the start: its `signed_in_at` differs.
const open = statement(
  "open_session",
  `WITH spent AS (
     INSERT INTO used_sign_ons (token_hash, expires_at) VALUES ($10, now() + interval '1 hour')
     ON CONFLICT DO NOTHING RETURNING 1
   ), person AS (
     INSERT INTO people (uuid, email, is_email_verified, name, scopes, sealed_access_token, sealed_refresh_token,
       expires_at, due_at)
     SELECT $1::uuid, $2, $3::boolean, $4, $5::text[], $6::bytea, $7::bytea, now() + make_interval(secs => $8::float8),
       CASE WHEN $7::bytea IS NOT NULL THEN now() + make_interval(secs => $8::float8 / 2) END FROM spent
     ON CONFLICT (uuid) DO UPDATE SET
       email = excluded.email, is_email_verified = excluded.is_email_verified, name = excluded.name, scopes = excluded.scopes,
       sealed_access_token = excluded.sealed_access_token, sealed_refresh_token = excluded.sealed_refresh_token,
       expires_at = excluded.expires_at, due_at = excluded.due_at,
       state = 'active', reason = NULL, generation = people.generation + 1, signed_in_at = now(),
       lease = people.lease + 1, leased_until = NULL, attempts = 0, last_error = NULL
     RETURNING uuid
   ), opened AS (
     INSERT INTO sessions (id_hash, person, expires_at)
     SELECT $9, uuid, now() + interval '${SESSION_SECONDS} seconds' FROM person RETURNING id_hash
   )
   SELECT id_hash FROM opened UNION ALL SELECT id_hash FROM sessions WHERE id_hash = $9`,
);
const find = statement(
  "find_session",
  `SELECT p.uuid AS id, p.email, p.is_email_verified AS "isEmailVerified", p.name, p.scopes,
     p.state = 'needs_sign_in' AS "isRefused", s.created_at AS "signedInAt", s.expires_at AS "sessionEndsAt",
     s.${IS_TO_NOTE} AS "isToNote"
   FROM sessions s JOIN people p ON p.uuid = s.person
   WHERE s.id_hash = ANY($1::bytea[]) AND s.expires_at > now() AND s.${IS_IN_USE}`,
);
const noteUse = statement(
  "note_session",
  `UPDATE sessions SET seen_at = now() WHERE id_hash = ANY($1::bytea[])`,
);
const describe = statement(
  "describe_person",
  `UPDATE people SET email = $2, is_email_verified = $3, name = $4 WHERE uuid = $1`,
);
// Locks the person first, as a sign-in does: the check for other sessions then sees the latest ones, and no deadlock
// arises.
const lockPerson = statement(
  "lock_person_of_session",
  `SELECT p.uuid AS id, p.email, p.is_email_verified AS "isEmailVerified", p.name
   FROM people p JOIN sessions s ON s.person = p.uuid WHERE s.id_hash = ANY($1::bytea[]) FOR UPDATE OF p`,
);
const close = statement("close_session", `DELETE FROM sessions WHERE id_hash = ANY($1::bytea[])`);
const forgetIfLast = statement(
  "forget_person_without_session",
  `DELETE FROM people p WHERE p.uuid = $1 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid)`,
);

/** Sessions, and the people who have them. An id exists in one browser's cookie and nowhere else. */
export function createSessions({ db, vault }: { db: Database; vault: Vault }) {
  return {
    /** Signs a person in; returns the id for their browser, and null if the state was used for another session. */
    async open(person: NewPerson, state: Secret): Promise<Secret | null> {
      const { id, email, isEmailVerified, name, scopes, access, refresh, lifeSeconds } = person;
      const session = randomId();
      const values = [
        ...[id, email, isEmailVerified, name, scopes, access, refresh, lifeSeconds],
        ...[hashOf(vault, "session", session), createHash("sha256").update(state.reveal()).digest()],
      ];
      const [opened] = await retryWhileDatabaseAway(() => db.query(open, values), PATIENCE);
      return opened ? session : null;
    },

    /** `isUse`: somebody uses the session now. */
    async find(session: Secret, { isUse = true } = {}): Promise<Session | null> {
      const values = [hashesOf(vault, "session", session)];
      const [row] = await retryWhileDatabaseAway(
        () => db.query<Person & { isRefused: boolean; isToNote: boolean }>(find, values),
        PATIENCE,
      );
      if (!row) return null;
      const { isRefused, isToNote, ...person } = row;
      // Not needed for the answer: it is noted with the next request, too.
      if (isUse && isToNote) await db.query(noteUse, values).catch(() => undefined);
      return { person, isRefused };
    },

    /** Stores what the platform says of a person now. */
    describe: async ({ id, email, isEmailVerified, name }: Account) =>
      void (await db.query(describe, [id, email, isEmailVerified, name])),

    /**
     * Ends a session; with a person's last session their row, and so their tokens, is deleted. Returns whose it was;
     * null if it had ended.
     */
    async close(session: Secret): Promise<Account | null> {
      const hashes = hashesOf(vault, "session", session);
      const work = () =>
        db.transaction(async (tx) => {
          const [person] = await tx.query<Account>(lockPerson, [hashes]);
          await tx.query(close, [hashes]);
          if (person) await tx.query(forgetIfLast, [person.id]);
          return person ?? null;
        });
      return retryWhileDatabaseAway(work, PATIENCE);
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;
