import { statement, retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { hashesOf, hashOf } from "../web-sessions/random-id.ts";

/** How long a person may take to sign in at the platform. */
const ATTEMPT_SECONDS = 600;

/**
 * How many unexpired sign-ins may be pending at once. Anybody can begin one without credentials, so this bounds the
 * rows they leave in the database; the price is that a caller who begins this many keeps others from signing in for ten
 * minutes. A lasting flood may leave four times as many rows, because each row stays for 30 minutes after it expires.
 */
const MOST_SIGN_INS_WAITING = 10_000;

/** What was requested when a sign-in began. */
export interface Attempt {
  scopes: string[];
  returnTo: string | null;
}

/**
 * `unknown`: the state was never ours, is used up, or expired long ago. `used`: a concurrent request with the same
 * state took it a moment before.
 */
export type Taken =
  { found: "it" | "expired"; attempt: Attempt } | { found: "unknown" | "other_browser" | "used" };

const begin = statement(
  "begin_sign_in",
  `WITH waiting AS (
     SELECT count(*) < ${MOST_SIGN_INS_WAITING} AS "hasRoom"
     FROM (SELECT 1 FROM sign_in_attempts WHERE expires_at > now() LIMIT ${MOST_SIGN_INS_WAITING}) each
   ), begun AS (
     INSERT INTO sign_in_attempts (state_hash, browser_hash, scopes, return_to, expires_at)
     SELECT $1, $2, $3, $4, now() + interval '${ATTEMPT_SECONDS} seconds' FROM waiting WHERE "hasRoom" ON CONFLICT DO NOTHING
   )
   SELECT "hasRoom" FROM waiting`,
);
// The DELETE makes a state single-use: of two requests with the same state, one gets the row. A request from another
// browser leaves the row, so that nobody who saw a state can use it up.
const take = statement(
  "take_sign_in",
  `WITH known AS (
     SELECT state_hash, browser_hash = ANY($2::bytea[]) AS "isMine" FROM sign_in_attempts WHERE state_hash = ANY($1::bytea[])
   ), taken AS (
     DELETE FROM sign_in_attempts a USING known WHERE a.state_hash = known.state_hash AND known."isMine"
     RETURNING a.state_hash, a.scopes, a.return_to, a.expires_at > now() AS "isLive"
   )
   SELECT known."isMine", taken."isLive", taken.scopes, taken.return_to AS "returnTo"
   FROM known LEFT JOIN taken USING (state_hash)`,
);

type Row = { isMine: boolean; isLive: boolean | null } & Attempt;

/** Pending sign-ins: each `state` is bound to the browser it began in (platform document, "Authentication" 2). */
export function createAttempts({ db, vault }: { db: Queryable; vault: Vault }) {
  return {
    /** False: too many sign-ins are pending, and this one was not begun. */
    async begin(state: Secret, browser: Secret, { scopes, returnTo }: Attempt): Promise<boolean> {
      const values = [hashOf(vault, "state", state), hashOf(vault, "browser", browser), scopes, returnTo];
      const work = () => db.query<{ hasRoom: boolean }>(begin, values);
      return (await retryWhileDatabaseAway(work, { upToMs: 2_000 }))[0]!.hasRoom;
    },

    async take(state: Secret, browser: Secret | null): Promise<Taken> {
      const browsers = browser ? hashesOf(vault, "browser", browser) : [];
      const values = [hashesOf(vault, "state", state), browsers];
      // Not retried: if the answer to the first try was lost, the second would find nothing and blame the person.
      const [row] = await db.query<Row>(take, values);
      if (!row) return { found: "unknown" };
      if (!row.isMine) return { found: "other_browser" };
      if (row.isLive === null) return { found: "used" };
      const { scopes, returnTo } = row;
      return { found: row.isLive ? "it" : "expired", attempt: { scopes, returnTo } };
    },
  };
}

export type Attempts = ReturnType<typeof createAttempts>;
