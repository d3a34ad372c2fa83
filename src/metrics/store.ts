import { GRANT_SECONDS, type State, STATES_OF_RESOURCES } from "../credentials/states.ts";
import type { Credential, Heartbeat } from "../database/client/client.ts";
import { type Queryable, statement } from "../database/statement.ts";
import { marksOf, whereGone } from "../ledgers/store.ts";
import { whereHeld } from "../processes/history-store.ts";
import {
  functionOf,
  IS_VENDOR_CALL,
  type LaneName,
  VENDOR_CALL_KINDS,
  whereAnnouncing,
  whereIn,
  whereNext,
} from "../resources/step-kinds.ts";
import { HAS_FAILED } from "../work/queue.ts";
import type { Sample } from "./metrics.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The bounds of the ages of tokens, in seconds. */
const AGES = [15 * MINUTE, 30 * MINUTE, ...[1, 2, 3, 4, 5, 6, 7, 8, 10].map((hours) => hours * HOUR)];
/** The rows of a queue are counted up to this number. */
export const MOST_ROWS_WAITING = 10_000;
/** At most this many pages (8 KiB each) of a table are read; a smaller one is read completely. */
const MOST_SAMPLE_PAGES = 2_000;

/** A metric that is read from the rows, whichever process does the work. `rows`: a SELECT of its samples. */
const gauge = (name: string, help: string, labels: readonly string[], value: string, from: string) => ({
  name,
  help,
  type: "gauge",
  rows: `SELECT '${name}' AS sample, jsonb_build_object(${labels.map((label) => `'${label}', ${label}`).join()}) AS labels,
     (${value})::float8 AS value FROM ${from}`,
});
const counting = (name: string, help: string, from: string) => gauge(name, help, [], "count(*)", from);

const ofYours = (name: string, value: string, help: string) =>
  gauge(name, help, ["function"], value, "functions");

const queue = (name: string, table: string, condition: string, isWaiting = "true", columns = "") =>
  `SELECT '${name}' AS queue, count(*) AS due, coalesce(extract(epoch FROM now() - min(due_at)), 0) AS age
   FROM (SELECT due_at ${columns} FROM ${table} WHERE due_at <= now() AND ${condition} ORDER BY 1 LIMIT ${MOST_ROWS_WAITING}) waiting
   WHERE ${isWaiting}`;

// Of each lane some rows are read: rotations of all resources may take hours, and hide nothing else.
const stepsDue = (lane: LaneName) => `(SELECT due_at, uuid, id, kind, detail, created_at FROM steps
     WHERE due_at <= now() AND ${whereIn(lane)}
       -- A step that a process is working on is not late.
       AND (leased_until IS NULL OR leased_until <= now())
     ORDER BY due_at LIMIT ${MOST_ROWS_WAITING})`;
// A step behind an earlier one is late only if that one is late, and that one may itself have answered "later" for hours.
const queueOfSteps = (name: string, from: string) =>
  queue(name, `${from} due`, "true", whereNext("waiting"), ", uuid, id, kind, detail, created_at");
const QUEUES = [
  queue("grants", "credentials", "state = 'grant_pending'"),
  queue(
    "refreshes",
    "credentials",
    "state IN ('active', 'needs_reauth', 'signed_in') AND sealed_refresh_token IS NOT NULL",
  ),
  queueOfSteps("steps", `(${stepsDue("vendor")} UNION ALL ${stepsDue("platform")})`),
  queueOfSteps("rotations", stepsDue("rotation")),
].join("\nUNION ALL\n");

const named = VENDOR_CALL_KINDS.map((kind) => `('${kind}', '${functionOf(kind)}')`).join();
// The work of the vendor's functions that was called: steps that are under way or whose last call failed. What waits for
// its turn says nothing of a function. Of each kind some are read, so that one does not hide another.
const FUNCTIONS = `SELECT function, count(*) FILTER (WHERE under_way) AS under_way, count(*) FILTER (WHERE failed) AS failing,
     greatest(extract(epoch FROM now() - min(since)), 0) AS age
   FROM (VALUES ${named}) named(kind, function) LEFT JOIN LATERAL (
     SELECT leased_until > now() AND attempts > 0 AS under_way, ${HAS_FAILED} AS failed,
       -- Work whose last call failed counts from when it first was due, any other from when its call began.
       CASE WHEN ${HAS_FAILED} AND detail ? 'dueSince' THEN (detail->>'dueSince')::timestamptz
         WHEN ${HAS_FAILED} OR (leased_until > now() AND attempts > 0) THEN due_at END AS since
     FROM (SELECT * FROM steps s WHERE s.kind = named.kind AND (leased_until IS NOT NULL OR last_error IS NOT NULL) AND ${IS_VENDOR_CALL} AND NOT ${whereAnnouncing("s")}
       ORDER BY due_at LIMIT ${MOST_ROWS_WAITING}) called
   ) work ON true GROUP BY function`;

const shareOf = (table: "credentials" | "resources") =>
  `least(100, 100.0 * ${MOST_SAMPLE_PAGES} * current_setting('block_size')::int / greatest(pg_relation_size('${table}'), 1))`;
const SHARE = shareOf("credentials");
/** `bucket`: after how many of `AGES` the ages are; `null`: they have none that counts. `percent`: of the rows were read. */
type CredentialsRow = Pick<Credential, "state"> & { bucket: number | null; percent: number; count: number };
// Credentials by state, and by the age of their tokens.
const readCredentials = statement<object, CredentialsRow>("metrics_credentials").sql(
  `SELECT state, width_bucket(age::float8, '{${AGES.join()}}'::float8[]) AS bucket, (${SHARE})::float8 AS percent,
     count(*)::float8 AS count
   FROM (SELECT state,
       -- Without a refresh token a credential ages for ever, and that is no sign of a late sweep.
       CASE WHEN state = 'active' AND (due_at IS NOT NULL OR sealed_refresh_token IS NOT NULL) AND NOT ${whereGone("credentials.uuid")}
       THEN extract(epoch FROM now() - issued_at) END AS age
     FROM credentials TABLESAMPLE SYSTEM (${SHARE}) WHERE owner = 'resource') read
   GROUP BY 1, 2`,
);

// Only those of resources that neither failed nor are gone, here or at the platform, for there a customer waits. Each state has its own limit,
// so that the many of one do not hide the few of the next; those of failed resources accumulate over the years.
const inState = (state: State) => `(SELECT uuid, state, reason FROM
    (SELECT uuid, state, reason FROM credentials WHERE state = '${state}' LIMIT 20000) few
  WHERE EXISTS (SELECT FROM resources r
    WHERE r.uuid = few.uuid AND r.state IN ('provisioning', 'provisioned') OFFSET 0) AND NOT ${whereGone("few.uuid")} LIMIT 10000)`;

/** A sub-select for a FROM: the credentials that need a person. */
export const NEEDING_ATTENTION = `(${(["grant_lost", "needs_reauth", "no_grant", "quarantined"] as const).map(inState).join(" UNION ALL ")})`;

// Each part of a scrape reads a bounded number of rows, however many resources there are.

// As by the alarm `job_fails`, which a process raises that may not live to count it, or may not be there. A job that no
// process has planned yet has no row.
const JOB_FAILS = `((alarmed_at IS NOT NULL AND last_error IS NOT NULL) OR attempts >= 3
     OR (due_at < now() - interval '5 minutes' AND (leased_until IS NULL OR leased_until < now())))`;
const NO_PROCESS_RUNS_JOBS = `(SELECT at < now() - interval '5 minutes' FROM heartbeats WHERE heartbeats.name = 'run-your-jobs')`;

/** What one statement reads of the work. */
const OF_WORK = [
  gauge(
    "addon_due",
    "What is due and not done, by queue; 10000 means that or more",
    ["queue"],
    "due",
    "queues",
  ),
  gauge("addon_due_age_seconds", "For how long the oldest of it has been due", ["queue"], "age", "queues"),
  ofYours("addon_your_service_under_way", "under_way", "Calls of the function that are under way"),
  ofYours(
    "addon_your_service_failing",
    "failing",
    "Its work whose last call failed or took too long, but not by the platform",
  ),
  ofYours("addon_your_service_oldest_seconds", "age", "For how long it has been called, or failing"),
  gauge(
    "addon_credentials_needing_attention",
    "Customers whose credential needs a person; of each state, at most 10000 are counted",
    ["state", "reason"],
    "count(*)",
    `(SELECT state, coalesce(reason, '') AS reason FROM ${NEEDING_ATTENTION} c) c GROUP BY state, reason`,
  ),
  counting(
    "addon_gone_at_platform",
    "Resources that the platform no longer has, to 10000",
    marksOf("gone_at_platform"),
  ),
  counting(
    "addon_plan_differs",
    "Resources for which the platform has another plan than the service was given, to 10000",
    marksOf("plan_differs"),
  ),
  counting(
    "addon_unknown_resources",
    "Resources that the platform asked about and that were never provisioned here, to 10000",
    marksOf("unknown_resource"),
  ),
  counting(
    "addon_restore_held",
    "1: the database was restored, and rotations and pushes of config vars are held",
    `database_history WHERE ${whereHeld()}`,
  ),
  // A grant that is retried is hardly ever due, so only its age shows that the token endpoint fails. A grant that the
  // platform refuses is left out: the platform has not processed our answer yet, and no operator can change that.
  gauge(
    "addon_grant_age_seconds",
    "Since the oldest grant came that is not exchanged, for whatever reason but the platform's refusal",
    [],
    `coalesce(extract(epoch FROM now() - min(grant_deadline)) + ${GRANT_SECONDS}, 0)`,
    `(SELECT grant_deadline FROM credentials WHERE state = 'grant_pending' AND rejected_at IS NULL
      ORDER BY grant_deadline LIMIT 1) oldest`,
  ),
  gauge(
    "addon_client_secret_rejected",
    "1: the platform rejects our client secret",
    [],
    "(rejected_at IS NOT NULL)::int",
    `(SELECT rejected_at FROM client_secrets ORDER BY version DESC LIMIT 1) secret`,
  ),
  // Only those of this build, too.
  gauge(
    "addon_your_jobs_failing",
    "1: the job's last runs failed, or it has been due for five minutes and no process runs it",
    ["function"],
    `coalesce(${JOB_FAILS}, ${NO_PROCESS_RUNS_JOBS}, false)::int`,
    `(SELECT 'jobs.' || n.name AS function, j.* FROM unnest((SELECT yours FROM names)) n(name) LEFT JOIN your_jobs j USING (name)) yours`,
  ),
  // Only the jobs of this build count: no process updates the heartbeat of a job that an older or newer build has under
  // another name.
  gauge(
    "addon_sweep_age_seconds",
    "Since a job last ran to its end, in whichever process",
    ["sweep"],
    "extract(epoch FROM now() - at)",
    "(SELECT name AS sweep, at FROM heartbeats WHERE name = ANY((SELECT jobs FROM names)::text[])) beats",
  ),
];

/** Those that another statement reads of the credentials: the sample takes longest, and must not hide the rest. */
const CREDENTIALS = "addon_credentials";
const TOKEN_AGE = "addon_token_age_seconds";
const CUSTOMERS = "addon_customers";

export const GAUGES = [
  ...OF_WORK,
  {
    name: CREDENTIALS,
    help: "Credentials by state; a large table is estimated from a sample",
    type: "gauge",
  },
  {
    name: CUSTOMERS,
    help: "Resources that are provisioned or being provisioned, by plan; a large table is estimated from a sample",
    type: "gauge",
  },
  { name: TOKEN_AGE, help: "Age of the access tokens that are refreshed, as of now", type: "histogram" },
];

/** How many percent of the credentials were read for their counts and ages; no metric, but the pages say it. */
export const SAMPLED = "sampled_percent";

const readWork = statement<{ jobs: readonly string[]; yours: readonly string[] }, Sample>("metrics").sql(
  `WITH names AS MATERIALIZED (SELECT :jobs::text[] AS jobs, :yours::text[] AS yours),
     queues AS MATERIALIZED (${QUEUES}),
     functions AS MATERIALIZED (${FUNCTIONS})
   ${OF_WORK.map(({ rows }) => rows).join("\nUNION ALL\n")}`,
);

/** `jobs`, `yours`: the names of this build's jobs, and of the vendor's. */
export const stateOfWork = (
  db: Queryable,
  jobs: readonly string[],
  yours: readonly string[] = [],
): Promise<Sample[]> => db.query(readWork, { jobs, yours });

/** The credentials by state, and the ages of their tokens: the buckets of the histogram by their bounds. */
export async function stateOfCredentials(db: Queryable): Promise<Sample[]> {
  const rows = await db.query(readCredentials);
  const percent = rows[0]?.percent ?? 100;
  const count = (isOne: (row: CredentialsRow) => boolean) =>
    Math.round(rows.filter(isOne).reduce((sum, row) => sum + (row.count * 100) / percent, 0));
  const upTo = (nth: number) => count(({ bucket }) => bucket !== null && bucket <= nth);
  return [
    ...STATES_OF_RESOURCES.map((each) => ({
      sample: CREDENTIALS,
      labels: { state: each },
      value: count(({ state }) => state === each),
    })),
    ...[...AGES, "+Inf"].map((le, nth) => ({
      sample: `${TOKEN_AGE}_bucket`,
      labels: { le },
      value: upTo(nth),
    })),
    { sample: `${TOKEN_AGE}_count`, labels: {}, value: upTo(AGES.length) },
    { sample: SAMPLED, labels: {}, value: percent },
  ];
}

const readCustomers = statement<object, { plan: string; value: number }>("metrics_customers").sql(
  `SELECT plan, round(count(*) * 100 / (${shareOf("resources")}))::float8 AS value
   FROM resources TABLESAMPLE SYSTEM (${shareOf("resources")}) WHERE state IN ('provisioning', 'provisioned') GROUP BY plan`,
);

/** The customers by plan, whose names are those of the vendor's offer. */
export const stateOfCustomers = async (db: Queryable): Promise<Sample[]> =>
  (await db.query(readCustomers)).map(({ plan, value }) => ({ sample: CUSTOMERS, labels: { plan }, value }));

const beat = statement<Pick<Heartbeat, "name">>("beat").sql(
  `INSERT INTO heartbeats (name, at) VALUES (:name, now()) ON CONFLICT (name) DO UPDATE SET at = now()`,
);

export const noteBeat = async (db: Queryable, job: string): Promise<void> =>
  void (await db.query(beat, { name: job }));

// Each job gets a heartbeat at the first start of all, so that one which never completes a run is noticed as late too.
const expectEach = statement<{ rows: Pick<Heartbeat, "name">[] }>("expect_beats", { name: "text" }).sql(
  `INSERT INTO heartbeats (name, at) SELECT i.name, now() FROM :rows AS i ON CONFLICT DO NOTHING`,
);
export const expectBeats = async (db: Queryable, jobs: readonly string[]): Promise<void> =>
  void (await db.query(expectEach, { rows: jobs.map((name) => ({ name })) }));
