import { statement, type Queryable } from "../database/database.ts";
import { IS_IN_USE } from "./idle.ts";

const sessions = statement(
  "prune_sessions",
  `DELETE FROM sessions WHERE expires_at <= now() OR NOT (${IS_IN_USE})`,
);
// If somebody signs in meanwhile, PostgreSQL re-checks only this row's own columns, so `signed_in_at` must exclude them.
const people = statement(
  "prune_people",
  `DELETE FROM people p WHERE p.signed_in_at < now() - interval '1 minute'
     AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = p.uuid)`,
);

/** Deletes sessions that are over, and people without a session, with their tokens. */
export function createPrune(db: Queryable): () => Promise<void> {
  return async () => {
    for (const each of [sessions, people]) await db.query(each);
  };
}
