import { statement, type Queryable } from "../database/database.ts";
import { GRANT_SECONDS } from "../credentials/verdict.ts";
import { isNext } from "../work/queue.ts";
import { NEEDING_ATTENTION } from "../credentials/needing-attention.ts";

// What metrics, heartbeats and the comparison of clocks read and write in the database. The statements about the work
// each read a bounded part, however many resources there are: the head of a queue's index, the few rows that need
// attention, and a sample of whole pages of all credentials.

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
      "state IN ('active', 'needs_reauth', 'signed_in') AND sealed_refresh_token IS NOT NULL",
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
   FROM credentials TABLESAMPLE SYSTEM ($1::float8) WHERE owner = 'resource' GROUP BY 1, 2`,
);

// One total for each series, over all processes and beyond their restarts. Behind a router, a scrape reaches an
// arbitrary web process and never a worker: totals of one process would jump from scrape to scrape, and miss the work
// of the workers. Rows are written in the order of their key, so that two processes cannot deadlock.
/** The metrics that are also stored by the hour, for the plots of the operator's pages. */
const KEPT_BY_THE_HOUR = ["addon_refreshes_total", "addon_refresh_breaker_openings_total"] as const;

const add = statement(
  "add_metric_totals",
  `WITH news AS (
     SELECT sample, labels, value FROM unnest($1::text[], $2::text[], $3::float8[]) AS i(sample, labels, value)
   ), hourly AS (
     INSERT INTO metric_hours AS h (hour, sample, labels, value)
     SELECT date_trunc('hour', now(), 'UTC'), sample, labels, value FROM news
     WHERE sample = ANY($4::text[]) AND value > 0 ORDER BY sample, labels
     ON CONFLICT (hour, sample, labels) DO UPDATE SET value = h.value + excluded.value
   ), past AS (
     DELETE FROM metric_hours WHERE hour < now() - make_interval(days => 14)
   )
   INSERT INTO metric_totals AS t (sample, labels, value) SELECT sample, labels, value FROM news ORDER BY sample, labels
   ON CONFLICT (sample, labels) DO UPDATE SET value = t.value + excluded.value`,
);
const readAll = statement("read_metric_totals", `SELECT sample, labels, value FROM metric_totals`);

const readClock = statement("database_clock", `SELECT extract(epoch FROM now())::float8 * 1000 AS "nowMs"`);

const beat = statement(
  "beat",
  `INSERT INTO heartbeats (name, at) VALUES ($1, now()) ON CONFLICT (name) DO UPDATE SET at = now()`,
);
// Each job gets a heartbeat at the first start of all, so that one which never completes a run is noticed as late too.
const expectEach = statement(
  "expect_beats",
  `INSERT INTO heartbeats (name, at) SELECT name, now() FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING`,
);

export interface Waiting {
  queue: string;
  /** At most {@link MOST_ROWS_WAITING}. */
  due: number;
  ageSeconds: number;
}

export interface Attention {
  state: string;
  reason: string;
  count: number;
}

/** Credentials of one state, and of one bucket of ages where their tokens are refreshed. */
export interface Sampled {
  state: string;
  bucket: number | null;
  count: number;
  ageSeconds: number;
}

/** One sample: a counter's value, or one of a histogram's. */
export interface Total {
  sample: string;
  /** JSON, sorted by the labels' names. */
  labels: string;
  value: number;
}

export const queues = (db: Queryable): Promise<Waiting[]> => db.query(readQueues);
export const attention = (db: Queryable): Promise<Attention[]> => db.query(readAttention);
export const oldestGrant = (db: Queryable): Promise<{ ageSeconds: number }[]> => db.query(readOldestGrant);
export const outcomesUnknown = (db: Queryable): Promise<{ count: number }[]> => db.query(readUnknown);
export const secretRejected = (db: Queryable): Promise<{ rejected: number }[]> => db.query(readSecret);
export const sweeps = (
  db: Queryable,
  jobs: readonly string[],
): Promise<{ sweep: string; ageSeconds: number }[]> => db.query(readSweeps, [jobs]);

/** How many percent of the credentials' table are read as the sample; 100: all of it. */
export async function sampleShare(db: Queryable): Promise<number> {
  const [{ share }] = (await db.query<{ share: number }>(readShare)) as [{ share: number }];
  return share;
}

/** Credentials by state and by the bucket of their tokens' ages (seconds), of this share (percent) of the table. */
export const sampled = (db: Queryable, share: number, ages: readonly number[]): Promise<Sampled[]> =>
  db.query(readSample, [share, ages]);

/** Adds to the totals. */
export async function addTotals(db: Queryable, news: readonly Total[]): Promise<void> {
  const column = (name: keyof Total) => news.map((each) => each[name]);
  await db.query(add, [column("sample"), column("labels"), column("value"), KEPT_BY_THE_HOUR]);
}
export const readTotals = (db: Queryable): Promise<Total[]> => db.query(readAll);

/** Notes that a job ran to its end. */
export const noteBeat = async (db: Queryable, job: string): Promise<void> =>
  void (await db.query(beat, [job]));
export const expectBeats = async (db: Queryable, jobs: readonly string[]): Promise<void> =>
  void (await db.query(expectEach, [jobs]));

/** The database's clock, in ms since 1970. */
export const databaseClock = async (db: Queryable): Promise<number> =>
  (await db.query<{ nowMs: number }>(readClock))[0]!.nowMs;
