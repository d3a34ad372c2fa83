import { statement, type Queryable } from "../database/database.ts";

// An expired sign-in is kept for 30 minutes, so that a person who comes back late is told that it expired.
const attempts = statement(
  "prune_sign_ins",
  `DELETE FROM sign_in_attempts WHERE expires_at <= now() - interval '30 minutes'`,
);
const sessions = statement("prune_sessions", `DELETE FROM sessions WHERE expires_at <= now()`);
// If somebody signs in meanwhile, PostgreSQL re-checks only this row's own columns, so `signed_in_at` must exclude them.
const people = statement(
  "prune_people",
  `DELETE FROM people p WHERE p.signed_in_at < now() - interval '1 minute'
     AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid)`,
);

/** Deletes old sign-ins that were not completed, expired sessions, and people without a session, with their tokens. */
export function createPrune(db: Queryable): () => Promise<void> {
  return async () => {
    for (const each of [attempts, sessions, people]) await db.query(each);
  };
}
