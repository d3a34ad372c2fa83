import { NEEDING_ATTENTION } from "../../credentials/store.ts";
import { statement, type Database, type Queryable } from "../../database/database.ts";
import { GRANT_SECONDS } from "../../credentials/verdict.ts";

// What the check-up reads. Each statement reads a bounded number of rows, but that of the plans, which reads all.

/** Rows are counted only up to this number; beyond it the exact number does not matter. */
export const MOST_COUNTED = 10_000;
/** A grant is normally exchanged within seconds of its arrival; an older one was tried in vain, or not at all. */
const GRANT_LATE_AFTER_SECONDS = 30;

// What PostgreSQL would say only at the first statement that needs it. Tables are ours if their owner made the table of
// migrations.
const schemaLacks = statement(
  "what_the_schema_lacks",
  `WITH ours AS (
     SELECT c.oid, c.relname, c.relkind FROM pg_class c JOIN pg_class m USING (relnamespace, relowner)
     WHERE m.oid = to_regclass('_prisma_migrations')
   )
   SELECT 'The database stores text as ' || current_setting('server_encoding') || ', not UTF8.' AS words,
     'Make a new one with ENCODING UTF8, and carry over what this one holds with pg_dump and pg_restore.' AS fix
   WHERE current_setting('server_encoding') <> 'UTF8'
   UNION ALL
   SELECT format('The role %I may not %s in %s.', current_user, privilege, string_agg(relname, ', ' ORDER BY relname)),
     'Grant what docs/database.md lists.'
   FROM ours JOIN (VALUES ('r', 'SELECT'), ('r', 'INSERT'), ('r', 'UPDATE'), ('S', 'USAGE')) AS n (kind, privilege)
     ON kind = relkind
   WHERE (privilege = 'SELECT' OR relname <> '_prisma_migrations') AND NOT CASE kind
     WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE, UPDATE') ELSE has_table_privilege(oid, privilege) END
   GROUP BY privilege
   UNION ALL
   SELECT format('The index %s is not valid.', i.indexrelid::regclass), 'DROP INDEX it, and make it again.'
   FROM pg_index i JOIN ours ON ours.oid = i.indrelid WHERE NOT i.indisvalid`,
);
const plansNotOffered = statement(
  "plans_not_offered",
  `SELECT plan, count(*)::int AS count FROM resources
   WHERE state IN ('provisioning', 'provisioned') AND plan <> ALL($1::text[]) GROUP BY plan ORDER BY count DESC`,
);
const readSecretCount = statement(
  "count_client_secrets",
  `SELECT count(*)::int AS count FROM client_secrets`,
);
const readHeartbeats = statement(
  "read_heartbeats",
  `SELECT name, extract(epoch FROM now() - at)::float8 AS age FROM heartbeats WHERE name = ANY($1) ORDER BY at`,
);
const countAttention = statement(
  "count_attention",
  `SELECT state, count(*)::int AS count FROM ${NEEDING_ATTENTION} c GROUP BY state ORDER BY state`,
);
// Active credentials without a refresh token: access ends when the current access token expires.
const countUnrefreshable = statement(
  "count_unrefreshable",
  `SELECT count(*)::int AS count, (array_agg(c.uuid::text ORDER BY c.uuid))[1:3] AS some
   FROM (SELECT uuid FROM credentials
     WHERE state = 'active' AND due_at IS NULL AND sealed_refresh_token IS NULL ORDER BY uuid LIMIT ${MOST_COUNTED}) c
   JOIN resources r USING (uuid) WHERE r.state IN ('provisioning', 'provisioned')`,
);
// As in the metrics, a grant that the platform currently refuses is left out: the platform has not accepted it yet, and
// no operator can change that.
const readLateGrants = statement(
  "late_grants",
  `SELECT count(*)::int AS count, extract(epoch FROM min(grant_deadline) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY grant_deadline) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM credentials WHERE state = 'grant_pending' AND rejected_at IS NULL
     AND grant_deadline < now() + interval '${GRANT_SECONDS - GRANT_LATE_AFTER_SECONDS} seconds'`,
);
// While an outage holds refreshes back, most tokens are overdue and untried, and the few that were tried are not due
// again yet: so both kinds are read. Tokens that the platform refuses during a wave of refusals stay active; they need
// no attention one by one, but the operator must know. Either kind may be millions, so a bounded part is read. What
// fell due first expires first, to within an hour.
const readLateRefreshes = statement(
  "late_refreshes",
  `SELECT count(*)::int AS count, extract(epoch FROM min(expires_at) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY due_at DESC) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM (
     (SELECT uuid, expires_at, due_at, last_error FROM credentials
      WHERE state = 'active' AND due_at < now() - interval '5 minutes' ORDER BY due_at LIMIT ${MOST_COUNTED})
     UNION
     (SELECT uuid, expires_at, due_at, last_error FROM credentials
      WHERE state = 'active' AND (attempts >= 3 OR rejected_at IS NOT NULL)
        AND (attempts >= 3 OR rejected_at < now() - interval '1 minute') LIMIT ${MOST_COUNTED})
   ) late`,
);

/** Grants or refreshes that are late: how many, how long the most urgent one has left, and the last answer. */
export interface Late {
  count: number;
  leftSeconds: number;
  lastError: string | null;
}

export const lacking = (db: Queryable): Promise<{ words: string; fix: string }[]> => db.query(schemaLacks);
export const notOffered = (db: Database, plans: readonly string[]) =>
  db.readWhole<{ plan: string; count: number }>(plansNotOffered, [plans]);
export const heartbeats = (db: Queryable, jobs: readonly string[]) =>
  db.query<{ name: string; age: number }>(readHeartbeats, [jobs]);
export const needingAttention = (db: Queryable): Promise<{ state: string; count: number }[]> =>
  db.query(countAttention);
export const hasSecret = async (db: Queryable): Promise<boolean> =>
  (await db.query<{ count: number }>(readSecretCount))[0]!.count > 0;

/** The active resources without a refresh token: how many, and the first uuids. Null if there are none. */
export async function unrefreshable(db: Queryable): Promise<{ count: number; some: string[] } | null> {
  const [{ count, some }] = (await db.query(countUnrefreshable)) as [
    { count: number; some: string[] | null },
  ];
  return some && { count, some };
}

export const lateGrants = async (db: Queryable): Promise<Late> => (await db.query<Late>(readLateGrants))[0]!;
export const lateRefreshes = async (db: Queryable): Promise<Late> =>
  (await db.query<Late>(readLateRefreshes))[0]!;
