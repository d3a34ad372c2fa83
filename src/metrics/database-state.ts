import { statement, type Queryable } from "../database/database.ts";
import { GRANT_SECONDS } from "../resources/grant-time.ts";
import { isNext } from "../work/queue.ts";
import { NEEDING_ATTENTION } from "../credentials/needing-attention.ts";
import { gauge, type Family } from "./metrics.ts";

// Gauges read from the database, whichever process does the work. Each statement reads a bounded part, however many
// resources there are: the head of a queue's index, the few rows that need attention, and a sample of whole pages of
// all credentials.

/** The rows of a queue are counted up to this number. */
export const MOST_ROWS_WAITING = 10_000;
/** At most this many pages (8 KiB each) of `credentials` are read; a smaller table is read completely. */
const MOST_SAMPLE_PAGES = 2_000;

const queue = (
  name: string,
  from: string,
  due: string,
  condition: string,
  isWaiting = "true",
  columns = "",
) =>
  `SELECT '${name}' AS queue, count(*)::int AS due, coalesce(extract(epoch FROM now() - min(at)), 0)::float8 AS "ageSeconds"
   FROM (SELECT ${due} AS at ${columns} FROM ${from} WHERE ${due} <= now() AND ${condition} ORDER BY 1 LIMIT ${MOST_ROWS_WAITING}) waiting
   WHERE ${isWaiting}`;
const readQueues = statement(
  "metrics_queues",
  [
    queue("grants", "credentials", "due_at", "state = 'grant_pending'"),
    queue(
      "refreshes",
      "credentials",
      "due_at",
      "state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL",
    ),
    // A step behind an earlier one is late only if that one is late, and that one may itself have answered "later" for
    // hours. A step that a process is working on is not late.
    queue(
      "steps",
      "steps",
      "due_at",
      "due_at IS NOT NULL AND (leased_until IS NULL OR leased_until <= now())",
      isNext("waiting"),
      ", uuid, id, kind",
    ),
    queue("people", "people", "due_at", "state = 'active'"),
  ].join("\nUNION ALL\n"),
);
const readAttention = statement(
  "metrics_attention",
  `SELECT state, coalesce(reason, '') AS reason, count(*)::int AS count FROM ${NEEDING_ATTENTION} c GROUP BY 1, 2`,
);
const readUnknown = statement(
  "metrics_outcome_unknown",
  `SELECT count(*)::int AS count FROM (SELECT 1 FROM credentials
   WHERE state = 'grant_pending' AND outcome_unknown LIMIT ${MOST_ROWS_WAITING}) unknown`,
);
// A grant that is retried is hardly ever due, so only its age shows that the token endpoint fails. A grant that the
// platform refuses is left out: the platform has not processed our answer yet, and no operator can change that.
const readOldestGrant = statement(
  "metrics_oldest_grant",
  `SELECT coalesce(extract(epoch FROM now() - min(grant_deadline)) + ${GRANT_SECONDS}, 0)::float8 AS "ageSeconds"
   FROM (SELECT grant_deadline FROM credentials WHERE state = 'grant_pending' AND rejected_at IS NULL
     ORDER BY grant_deadline LIMIT 1) oldest`,
);
const readSecret = statement(
  "metrics_client_secret",
  `SELECT (rejected_at IS NOT NULL)::int AS rejected FROM client_secrets ORDER BY version DESC LIMIT 1`,
);
const readSweeps = statement(
  "metrics_sweeps",
  `SELECT name AS sweep, extract(epoch FROM now() - at)::float8 AS "ageSeconds" FROM heartbeats WHERE name = ANY($1)`,
);
const readShare = statement(
  "metrics_sample_share",
  `SELECT least(100, 100.0 * ${MOST_SAMPLE_PAGES} * current_setting('block_size')::int
     / greatest(pg_relation_size('credentials'), 1))::float8 AS share`,
);
const AGE = `extract(epoch FROM now() - issued_at)::float8`;
/** Without a refresh token a credential ages for ever, and that is no sign of a late sweep. */
const IS_REFRESHED = `state = 'active' AND (due_at IS NOT NULL OR sealed_refresh_token IS NOT NULL)`;
const readSample = statement(
  "metrics_credentials",
  `SELECT state, CASE WHEN ${IS_REFRESHED} THEN width_bucket(${AGE}, $2::float8[]) END AS bucket,
     count(*)::int AS count, coalesce(sum(CASE WHEN ${IS_REFRESHED} THEN ${AGE} END), 0)::float8 AS "ageSeconds"
   FROM credentials TABLESAMPLE SYSTEM ($1::float8) GROUP BY 1, 2`,
);

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const AGES = [15 * MINUTE, 30 * MINUTE, ...[1, 2, 3, 4, 5, 6, 7, 8, 10].map((hours) => hours * HOUR)];
const STATES = ["grant_pending", "active", "needs_reauth", "grant_lost", "no_grant", "quarantined", "erased"];

/** The state of the work, as gauges. Throws when the database does not answer. */
export async function databaseState(db: Queryable): Promise<Family[]> {
  const queues = await db.query<{ queue: string; due: number; ageSeconds: number }>(readQueues);
  const attention = await db.query<{ state: string; reason: string; count: number }>(readAttention);
  const oldest = await db.query<{ ageSeconds: number }>(readOldestGrant);
  const unknown = await db.query<{ count: number }>(readUnknown);
  const secret = await db.query<{ rejected: number }>(readSecret);
  return [
    gauge("addon_due", "What is due and not done, by queue; 10000 means that or more", queues, (row) => [
      { queue: row.queue },
      row.due,
    ]),
    gauge("addon_due_age_seconds", "For how long the oldest of it has been due", queues, (row) => [
      { queue: row.queue },
      row.ageSeconds,
    ]),
    gauge(
      "addon_credentials_needing_attention",
      "Customers whose credential needs a person; of each state, at most 10000 are counted",
      attention,
      (row) => [{ state: row.state, reason: row.reason }, row.count],
    ),
    gauge(
      "addon_grant_age_seconds",
      "Since the oldest grant came that is not exchanged, for whatever reason but the platform's refusal",
      oldest,
      (row) => [{}, row.ageSeconds],
    ),
    gauge(
      "addon_grants_outcome_unknown",
      "Grants whose exchange may have been done, its answer lost",
      unknown,
      (row) => [{}, row.count],
    ),
    gauge("addon_client_secret_rejected", "1: the platform rejects our client secret", secret, (row) => [
      {},
      row.rejected,
    ]),
    ...(await credentials(db)),
  ];
}

/**
 * How long ago the jobs ran. Only the jobs of this build count: no process updates the heartbeat of a job that an older
 * or newer build has under another name.
 */
export async function sweepAges(db: Queryable, jobs: readonly string[]): Promise<Family> {
  const sweeps = await db.query<{ sweep: string; ageSeconds: number }>(readSweeps, [jobs]);
  return gauge(
    "addon_sweep_age_seconds",
    "Since a job last ran to its end, in whichever process",
    sweeps,
    (row) => [{ sweep: row.sweep }, row.ageSeconds],
  );
}

/** How many percent of the credentials' table are read as the sample; 100: all of it. */
export async function sampleShare(db: Queryable): Promise<number> {
  const [{ share }] = (await db.query<{ share: number }>(readShare)) as [{ share: number }];
  return share;
}

/** The number of credentials by state, and the ages of the tokens; scaled up if only a sample was read. */
async function credentials(db: Queryable): Promise<Family[]> {
  const share = await sampleShare(db);
  const rows = await db.query<Sampled>(readSample, [share, AGES]);
  const scaled = rows.map((row) => ({ ...row, count: Math.round((row.count * 100) / share) }));
  const states = STATES.map((state) => ({ state, count: sum(scaled.filter((row) => row.state === state)) }));
  const active = scaled.filter(({ bucket }) => bucket !== null);
  return [
    gauge(
      "addon_credentials",
      "Credentials by state; a large table is estimated from a sample",
      states,
      (row) => [{ state: row.state }, row.count],
    ),
    tokenAges({
      counts: AGES.map((_, index) => sum(active.filter(({ bucket }) => bucket === index))),
      count: sum(active),
      seconds: (active.reduce((seconds, row) => seconds + row.ageSeconds, 0) * 100) / share,
    }),
  ];
}

/** `counts`: how many tokens lie between the previous bound and this one. A histogram's buckets are cumulative. */
function tokenAges({ counts, count, seconds }: { counts: number[]; count: number; seconds: number }): Family {
  const name = "addon_token_age_seconds";
  let below = 0;
  const buckets = AGES.map((le, index) => ({ le, value: (below += counts[index]!) }));
  return {
    ...{ name, help: "Age of the access tokens that are refreshed, as of now" },
    ...{ type: "histogram", aggregator: "first" },
    values: [
      ...[...buckets, { le: "+Inf", value: count }].map(({ le, value }) => ({
        ...{ metricName: `${name}_bucket`, labels: { le }, value },
      })),
      { metricName: `${name}_sum`, labels: {}, value: seconds },
      { metricName: `${name}_count`, labels: {}, value: count },
    ],
  };
}

interface Sampled {
  state: string;
  bucket: number | null;
  count: number;
  ageSeconds: number;
}

function sum(rows: readonly { count: number }[]): number {
  return rows.reduce((total, { count }) => total + count, 0);
}
