import type { Database } from "../database/database.ts";
import { oneRow, type Queryable, statement } from "../database/statement.ts";
import { whereAnnouncing } from "../resources/step-kinds.ts";

// What is left of what an operator asked for.

/** When it was asked for, by the database's clock, and the last event before that. */
export interface Begun {
  at: Date;
  eventId: number;
}
const begun = statement<object, Begun>("begun_now").sql(
  `SELECT now() AS at, (SELECT coalesce(max(id), 0) FROM events) AS "eventId"`,
);

export const begunNow = async (db: Queryable): Promise<Begun> => (await oneRow(db, begun))!;

/** `uuids`: of these resources; null: of all. */
type Of = { uuids: readonly string[] | null };

interface Rotations {
  toMake: number;
  toSet: number;
  toRetire: number;
  failing: number;
  lastError: string | null;
  /** Until the first and the last of the old credentials are retired. */
  nextSeconds: number | null;
  lastSeconds: number | null;
  refused: number;
}
const rotations = statement<Of & { eventId: number }, Rotations>("rotations_left").sql(
  `SELECT count(*) FILTER (WHERE kind = 'rotate' AND NOT ${whereAnnouncing("s")}) AS "toMake",
     count(*) FILTER (WHERE kind = 'rotate' AND ${whereAnnouncing("s")}) AS "toSet",
     count(*) FILTER (WHERE kind = 'retire') AS "toRetire",
     count(*) FILTER (WHERE last_error IS NOT NULL) AS failing,
     (array_agg(last_error ORDER BY due_at) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError",
     extract(epoch FROM min(due_at) FILTER (WHERE kind = 'retire') - now())::float8 AS "nextSeconds",
     extract(epoch FROM max(due_at) FILTER (WHERE kind = 'retire') - now())::float8 AS "lastSeconds",
     (SELECT count(*) FROM events e WHERE e.id > :eventId AND e.type = 'rotation_refused'
       AND (:uuids::uuid[] IS NULL OR e.uuid = ANY(:uuids))) AS refused
   FROM steps s WHERE kind IN ('rotate', 'retire') AND (:uuids::uuid[] IS NULL OR uuid = ANY(:uuids))`,
);

export const countRotationsLeft = async (db: Database, of: Of & { eventId: number }): Promise<Rotations> =>
  (await db.readWhole(rotations, of))[0]!;

interface Refreshes {
  toRefresh: number;
  lost: number;
  lastError: string | null;
}
const refreshes = statement<{ uuids: readonly string[]; at: Date }, Refreshes>("refreshes_left").sql(
  `SELECT count(*) FILTER (WHERE state = 'active') AS "toRefresh", count(*) FILTER (WHERE state <> 'active') AS lost,
     (array_agg(last_error ORDER BY due_at) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM credentials WHERE uuid = ANY(:uuids::uuid[]) AND state <> 'erased' AND issued_at < :at`,
);

/** Of these resources, those that got no tokens since `at`. */
export const countRefreshesLeft = async (db: Queryable, of: { uuids: readonly string[]; at: Date }) =>
  (await oneRow(db, refreshes, of))!;
