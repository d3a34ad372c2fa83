import { STATES_OF_RESOURCES } from "../credentials/states.ts";
import type { Queryable } from "../database/database.ts";
import { gauge, type Family } from "./metrics.ts";
import * as store from "./store.ts";

// Gauges read from the database, whichever process does the work.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
/** The bounds of the ages of tokens, in seconds. */
export const AGES = [15 * MINUTE, 30 * MINUTE, ...[1, 2, 3, 4, 5, 6, 7, 8, 10].map((hours) => hours * HOUR)];

/** The state of the work, as gauges. Throws when the database does not answer. */
export async function databaseState(db: Queryable): Promise<Family[]> {
  const queues = await store.queues(db);
  const attention = await store.attention(db);
  const oldest = await store.oldestGrant(db);
  const unknown = await store.outcomesUnknown(db);
  const secret = await store.secretRejected(db);
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
  const sweeps = await store.sweeps(db, jobs);
  return gauge(
    "addon_sweep_age_seconds",
    "Since a job last ran to its end, in whichever process",
    sweeps,
    (row) => [{ sweep: row.sweep }, row.ageSeconds],
  );
}

/** The number of credentials by state, and the ages of the tokens; scaled up if only a sample was read. */
async function credentials(db: Queryable): Promise<Family[]> {
  const share = await store.sampleShare(db);
  const rows = await store.sampled(db, share, AGES);
  const scaled = rows.map((row) => ({ ...row, count: Math.round((row.count * 100) / share) }));
  const states = STATES_OF_RESOURCES.map((state) => ({
    state,
    count: sum(scaled.filter((row) => row.state === state)),
  }));
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

function sum(rows: readonly { count: number }[]): number {
  return rows.reduce((total, { count }) => total + count, 0);
}
