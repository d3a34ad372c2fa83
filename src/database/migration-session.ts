import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { KitError, Misconfigured } from "../errors.ts";
import { connectionTo } from "./address.ts";
import type { Series } from "./migrations.ts";
import { refused, throwAsMisconfigured } from "./retry.ts";
import { oneRow, type Queryable, statement } from "./statement.ts";

// The database session of a migration: its connection, the check that no pooler shares the session, and the lock that lets
// one process migrate at a time.

export interface Address {
  url: string;
  /** Where the address comes from; DATABASE_URL unless given. */
  setting?: string;
  ca?: string | undefined;
}

export interface Waiting {
  /** Called with a sentence about a wait for another session. */
  say?: ((sentence: string) => void) | undefined;
  patience: Patience;
}

export interface Patience {
  /** How long a migration waits for another process that migrates, and how often it checks. */
  waitMs: number;
  pollMs: number;
  /**
   * All other sessions queue behind a migration that waits for the lock of a table; during a backup this would stop the
   * service. So a migration waits only `lockMs`, pauses for `stepsBackMs` and retries, until `inAllMs` are over. `lockMs`
   * is longer than `deadlock_timeout`, after which PostgreSQL cancels an autovacuum in favour of the migration.
   */
  lockMs: number;
  stepsBackMs: number;
  inAllMs: number;
  /** How long the check for a shared session waits for its notification. */
  noticeMs: number;
}

export const PATIENCE: Patience = {
  waitMs: 10 * 60_000,
  pollMs: 500,
  lockMs: 1_500,
  stepsBackMs: 2_000,
  inAllMs: 10 * 60_000,
  noticeMs: 3_000,
};

async function connect({ url, ca, setting }: Address, more: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({
    ...connectionTo(url, ca, "", setting),
    application_name: "addon-migrate",
    connectionTimeoutMillis: 10_000,
    // Detects within half a minute a connection that a router has dropped.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...more,
  });
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => throwAsMisconfigured(refused(error), setting));
  return client;
}

export const queryableOf = (client: pg.Client): Queryable => ({
  query: async ({ text, bind }, ...values) => (await client.query(text, bind(...values))).rows as never,
});

/**
 * Lifts the role's time limits, because a migration may take long. The TCP settings make the server end the session, and
 * so release its lock, within half a minute after the network was cut. Scripts rely on the last settings, which a pooler
 * may not pass on from the connection's options.
 */
const SETTINGS = statement<{ searchPath: string }>("migration_settings").sql(
  `SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
     ('statement_timeout', '0'), ('lock_timeout', '0'), ('transaction_timeout', '0'),
     ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
     ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '4'), ('tcp_user_timeout', '30000'),
     ('standard_conforming_strings', 'on'), ('default_transaction_isolation', 'read committed'), ('search_path', :searchPath)
   ) AS ours (name, value) USING (name)`,
);
/** Makes the server end the running statement of a killed process. Not every operating system supports it. */
const END_WITH_CLIENT = "SET client_connection_check_interval = '5s'";

/** Runs `work` in a new session. Unqualified names are found and created in the schema of the series. */
export async function withSession<T>(
  address: Address,
  { schema }: Pick<Series, "schema">,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connect(address);
  try {
    const searchPath = schema === "public" ? schema : `${schema}, public`;
    await queryableOf(client).query(SETTINGS, { searchPath });
    await client.query(END_WITH_CLIENT).catch(() => undefined);
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

interface Backend {
  pid: number;
}

const WHICH = statement<object, Backend>("which_backend").sql(`SELECT pg_backend_pid() AS pid`);
const NOTIFY = statement<{ channel: string }, Backend>("notify").sql(
  `SELECT pg_backend_pid() AS pid, pg_notify(:channel, '')`,
);

/**
 * Throws Misconfigured if a pooler shares the session with other clients. An unshared session receives, while idle, the
 * notification of a second session. If a second session cannot be opened, as with a full pooler, the session counts as
 * unshared if its backend process stays the same.
 */
export async function expectOwnSession(address: Address, { noticeMs }: Patience): Promise<void> {
  const client = await connect(address);
  try {
    if (!(await isShared(client, address, noticeMs).catch(() => false))) return;
    await client.query("UNLISTEN *");
  } finally {
    await client.end().catch(() => undefined);
  }
  const { setting = "DATABASE_URL" } = address;
  throw new Misconfigured(
    `${setting} leads to a connection pooler that shares sessions between clients (transaction or statement pooling), but a migration needs its own session. Set MIGRATION_DATABASE_URL to the address of the database itself: docs/scale.md, "Connection poolers".`,
  );
}

async function isShared(client: pg.Client, address: Address, noticeMs: number): Promise<boolean> {
  const channel = `addon_${randomUUID()}`;
  const heard = new AbortController();
  client.on("notification", (notice) => notice.channel === channel && heard.abort());
  await client.query(`LISTEN "${channel}"`);
  const pid = await pidOf(client);
  const notifier = await notify(address, channel, noticeMs).catch(() => null);
  if (notifier === pid) return true;
  if (notifier !== null) await sleep(noticeMs, undefined, { signal: heard.signal }).catch(() => undefined);
  // A pending notification arrives at the latest before the answer to this statement.
  return pid !== (await pidOf(client)) || (notifier !== null && !heard.signal.aborted);
}

/** Sends a notification from another session. Returns the backend process of that session. */
async function notify(address: Address, channel: string, withinMs: number): Promise<number> {
  const client = await connect(address, { query_timeout: withinMs });
  try {
    return (await oneRow(queryableOf(client), NOTIFY, { channel }))!.pid;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const pidOf = async (client: pg.Client) => (await oneRow(queryableOf(client), WHICH))!.pid;

/** The advisory lock of `prisma migrate`, so that both wait for each other. */
const LOCK = 72707369;

/**
 * A migration in a transaction takes the lock of that transaction, which cannot be left behind. A migration outside a
 * transaction takes a lock of the session, which PostgreSQL ends when a killed process's statement ends. The lock is polled,
 * because a CREATE INDEX CONCURRENTLY of another session would wait for the end of a statement that waits for the lock.
 */
const TAKE = {
  transaction: `SELECT pg_try_advisory_xact_lock(${LOCK}) AS has`,
  session: `SELECT pg_try_advisory_lock(${LOCK}) AS has`,
};
type Way = keyof typeof TAKE;

/**
 * Runs `work` while no other process migrates, in a transaction that `work` commits, or outside of one.
 *
 * @throws KitError `migration_locked` after `waitMs`
 */
export async function whileAlone<T>(
  client: pg.Client,
  way: Way,
  { say, patience: { waitMs, pollMs } }: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + waitMs;
  const atMost = inWords(waitMs);
  for (let isSaid = false; !(await take(client, way)); await sleep(pollMs)) {
    const holder = await holderOf(client);
    if (!holder) continue;
    if (performance.now() > until) throw stillLocked(holder, atMost);
    if (!isSaid)
      say?.(`${capital(holder.words)} has the lock of migrations. Waiting for it for at most ${atMost}.`);
    isSaid = true;
  }
  try {
    return await work();
  } finally {
    await leave(client, way);
  }
}

async function take(client: pg.Client, way: Way): Promise<boolean> {
  if (way === "transaction") await client.query("BEGIN");
  const isTaken = (await client.query<{ has: boolean }>(TAKE[way])).rows[0]!.has;
  if (!isTaken) await leave(client, way);
  return isTaken;
}

/** Releases the lock. PostgreSQL ends a closed session with a delay, in which the lock would still be taken. */
async function leave(client: pg.Client, way: Way): Promise<void> {
  if (way === "transaction" && client.getTransactionStatus() === "I") return;
  const text = way === "transaction" ? "ROLLBACK" : `SELECT pg_advisory_unlock(${LOCK})`;
  await client.query(text).catch(() => undefined);
}

interface Holder {
  pid: number | null;
  words: string;
}

const HOLDER = `SELECT pid, application_name AS application, usename AS role, host(client_addr) AS address,
    backend_start AS "connectedAt", state, state_change AS "stateAt"
  FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND granted AND (classid, objid, objsubid) = (0, ${LOCK}, 1)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1`;

/** The session that has the lock; `null` if it was just released. */
async function holderOf(client: pg.Client): Promise<Holder | null> {
  const [row] = (await client.query<HolderRow>(HOLDER)).rows;
  if (!row) return null;
  const { pid, application, role, address, connectedAt, state, stateAt } = row;
  if (pid === null) return { pid, words: "a prepared transaction (see pg_prepared_xacts)" };
  const seen = state
    ? `from ${address ?? "its own machine"}, connected since ${time(connectedAt)}, ${state} since ${time(stateAt)}`
    : "address and state not visible to this role: grant it pg_read_all_stats";
  const name = application || "without application_name";
  return { pid, words: `process ${pid} of the database (${name}, role ${role}, ${seen})` };
}

interface HolderRow {
  pid: number | null;
  application: string | null;
  role: string | null;
  address: string | null;
  connectedAt: Date | null;
  state: string | null;
  stateAt: Date | null;
}

/** 2026-01-31 12:00:00 UTC. */
const time = (at: Date | null) =>
  at ? `${at.toISOString().slice(0, 19).replace("T", " ")} UTC` : "an unknown time";
const capital = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);
const inWords = (ms: number) => (ms < 60_000 ? `${ms / 1_000} s` : `${Math.round(ms / 60_000)} min`);

function stillLocked({ pid, words }: Holder, waited: string): KitError {
  const end = pid === null ? "ROLLBACK PREPARED" : `SELECT pg_terminate_backend(${pid})`;
  return new KitError(
    "migration_locked",
    `Waited ${waited} for the lock of migrations, which is held by ${words}. If that process is working, wait for its end (kit migrate --wait MINUTES waits longer). Otherwise end it with ${end} and run this again. An idle process may be a pooler's session in which an older release of the kit left the lock.`,
  );
}
