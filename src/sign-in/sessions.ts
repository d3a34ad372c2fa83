import { statement, retryWhileDatabaseAway, type Database } from "../database/database.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { hashesOf, hashOf, randomId } from "../web-sessions/random-id.ts";

/** How long a session lasts; use does not extend it. */
export const SESSION_SECONDS = 12 * 3600;

/** A signed-in person, as the parts of the service see them. */
export interface Person {
  /** The platform's id of the account. */
  id: string;
  email: string;
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
export interface NewPerson {
  id: string;
  email: string;
  name: string | null;
  scopes: string[];
  access: Uint8Array;
  refresh: Uint8Array | null;
  lifeSeconds: number;
}

const PATIENCE = { upToMs: 4_000 };

// One statement writes person and session, so that neither exists without the other. New tokens replace the old pair
// and raise the lease number (fencing), so what a refresh of the old pair brings later is not stored. Nor is it if the
// old row was deleted with the last session and this row counts its leases from the start: its `signed_in_at` differs.
const open = statement(
  "open_session",
  `WITH person AS (
     INSERT INTO people (uuid, email, name, scopes, sealed_access_token, sealed_refresh_token, expires_at, due_at)
     VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7::float8),
       CASE WHEN $6::bytea IS NOT NULL THEN now() + make_interval(secs => $7::float8 / 2) END)
     ON CONFLICT (uuid) DO UPDATE SET
       email = excluded.email, name = excluded.name, scopes = excluded.scopes,
       sealed_access_token = excluded.sealed_access_token, sealed_refresh_token = excluded.sealed_refresh_token,
       expires_at = excluded.expires_at, due_at = excluded.due_at,
       state = 'active', reason = NULL, generation = people.generation + 1, signed_in_at = now(),
       lease = people.lease + 1, leased_until = NULL, attempts = 0, last_error = NULL
     RETURNING uuid
   )
   INSERT INTO sessions (id_hash, person, expires_at)
   SELECT $8, uuid, now() + interval '${SESSION_SECONDS} seconds' FROM person ON CONFLICT DO NOTHING`,
);
const find = statement(
  "find_session",
  `SELECT p.uuid AS id, p.email, p.name, p.scopes, p.state = 'needs_sign_in' AS "isRefused",
     s.created_at AS "signedInAt", s.expires_at AS "sessionEndsAt"
   FROM sessions s JOIN people p ON p.uuid = s.person WHERE s.id_hash = ANY($1::bytea[]) AND s.expires_at > now()`,
);
const rename = statement("rename_person", `UPDATE people SET email = $2, name = $3 WHERE uuid = $1`);
// Locks the person first, as a sign-in does: the check for other sessions then sees the latest ones, and no deadlock
// arises.
const lockPerson = statement(
  "lock_person_of_session",
  `SELECT p.uuid FROM people p JOIN sessions s ON s.person = p.uuid WHERE s.id_hash = ANY($1::bytea[]) FOR UPDATE OF p`,
);
const close = statement("close_session", `DELETE FROM sessions WHERE id_hash = ANY($1::bytea[])`);
const forgetIfLast = statement(
  "forget_person_without_session",
  `DELETE FROM people p WHERE p.uuid = $1 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid)`,
);

/** Sessions, and the people who have them. An id exists in one browser's cookie and nowhere else. */
export function createSessions({ db, vault }: { db: Database; vault: Vault }) {
  return {
    /** Signs a person in; returns the id for their browser. */
    async open({ id, email, name, scopes, access, refresh, lifeSeconds }: NewPerson): Promise<Secret> {
      const session = randomId();
      const values = [
        id,
        email,
        name,
        scopes,
        access,
        refresh,
        lifeSeconds,
        hashOf(vault, "session", session),
      ];
      await retryWhileDatabaseAway(() => db.query(open, values), PATIENCE);
      return session;
    },

    async find(session: Secret): Promise<Session | null> {
      const values = [hashesOf(vault, "session", session)];
      const [row] = await retryWhileDatabaseAway(
        () => db.query<Person & { isRefused: boolean }>(find, values),
        PATIENCE,
      );
      if (!row) return null;
      const { isRefused, ...person } = row;
      return { person, isRefused };
    },

    /** Stores the e-mail address and name that the platform gives for a person now. */
    rename: async (person: string, email: string, name: string | null) =>
      void (await db.query(rename, [person, email, name])),

    /** Ends a session; with a person's last session their row, and so their tokens, is deleted. */
    async close(session: Secret): Promise<void> {
      const hashes = hashesOf(vault, "session", session);
      const work = () =>
        db.transaction(async (tx) => {
          const [person] = await tx.query<{ uuid: string }>(lockPerson, [hashes]);
          await tx.query(close, [hashes]);
          if (person) await tx.query(forgetIfLast, [person.uuid]);
        });
      await retryWhileDatabaseAway(work, PATIENCE);
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;
