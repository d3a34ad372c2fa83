import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { KitError, Misconfigured } from "../errors.ts";
import { connectionTo, refused, throwInWords } from "./database.ts";
import type { Series } from "./migrations.ts";
import { oneRow, statement, type Queryable } from "./statement.ts";

// A migration has a session of the database to itself: what connects it, whether a pooler gives it to others too, and the
// lock that lets one process migrate at a time.

export interface Address {
  url: string;
  /** Where the address comes from; DATABASE_URL unless given. */
  setting?: string;
  ca?: string | undefined;
}

export interface Waiting {
  /** Called with a sentence when other sessions keep it waiting. */
  say?: ((sentence: string) => void) | undefined;
  patience: Patience;
}

export interface Patience {
  /** How long it waits for another process that migrates, and how often it looks. */
  waitMs: number;
  pollMs: number;
  /**
   * Everybody waits behind a migration that waits for a table. Behind a backup that would stop the whole service, so it
   * waits for `lockMs` (longer than `deadlock_timeout`, after which PostgreSQL ends its own vacuum for the migration),
   * lets the others through, and tries again, until `inAllMs` are over.
   */
  lockMs: number;
  stepsBackMs: number;
  inAllMs: number;
  /** How long a second session may take to come and to notify, and the first to hear that. */
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
    // A connection that a router has dropped is noticed within half a minute.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...more,
  });
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => throwInWords(refused(error), setting));
  return client;
}

export const queryableOf = (client: pg.Client): Queryable => ({
  query: async ({ text, bind }, ...values) => (await client.query(text, bind(...values))).rows as never,
});

/**
 * Lifts the limits that the role has: a migration may take as long as it takes. The server notices within half a minute
 * that the network was cut, and ends the session, whose lock others wait for. The rest is what scripts rely on; a pooler
 * may have left it out.
 */
const SETTINGS = statement<{ searchPath: string }>("migration_settings").sql(
  `SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
     ('statement_timeout', '0'), ('lock_timeout', '0'), ('transaction_timeout', '0'),
     ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),
     ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '4'), ('tcp_user_timeout', '30000'),
     ('standard_conforming_strings', 'on'), ('default_transaction_isolation', 'read committed'), ('search_path', :searchPath)
   ) AS ours (name, value) USING (name)`,
);
/** Ends a statement whose process was killed: without it, it would be done in vain. Not every system can. */
const ENDS_WITH_US = "SET client_connection_check_interval = '5s'";

/** Runs `work` in a new session, which no other script has changed. Names are looked for, and made, in the series' schema. */
export async function withSession<T>(
  address: Address,
  { schema }: Pick<Series, "schema">,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connect(address);
  try {
    const searchPath = schema === "public" ? schema : `${schema}, public`;
    await queryableOf(client).query(SETTINGS, { searchPath });
    await client.query(ENDS_WITH_US).catch(() => undefined);
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
 * Throws Misconfigured if a pooler lets clients take turns on a session. The sure sign of a session of one's own is that
 * it hears, while it is idle, what another one notifies. Where no second session is to be had, as of a pooler that is
 * full, the first counts as its own if it stays the same.
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
    `${setting} leads to a connection pooler that lets its clients take turns on a session (transaction or statement pooling), and a migration needs a session of its own. Set MIGRATION_DATABASE_URL to the address of the database itself: docs/scale.md, "Connection poolers".`,
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
  // What there is to hear comes before the answer to the next statement at the latest.
  return pid !== (await pidOf(client)) || (notifier !== null && !heard.signal.aborted);
}

/** Notifies from another session, and returns its process. */
async function notify(address: Address, channel: string, withinMs: number): Promise<number> {
  const client = await connect(address, { query_timeout: withinMs });
  try {
    return (await oneRow(queryableOf(client), NOTIFY, { channel }))!.pid;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const pidOf = async (client: pg.Client) => (await oneRow(queryableOf(client), WHICH))!.pid;

/** That of `prisma migrate`, so that it and we wait for each other. */
const LOCK = 72707369;

/**
 * The lock is one of a transaction that begins with it, so that it stays nowhere; for what runs outside of one, it is the
 * session's, which PostgreSQL ends after the statement of a process that was killed. Never a statement that waits for it:
 * an index that another session makes CONCURRENTLY would wait for that.
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
      say?.(`${capital(holder.words)} has the lock of migrations. Waiting ${atMost} for it at most.`);
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

/** Before the session ends: that takes PostgreSQL a moment, in which the next one would find the lock taken. */
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

/** Who has the lock; null if it has just been released. */
async function holderOf(client: pg.Client): Promise<Holder | null> {
  const [row] = (await client.query<HolderRow>(HOLDER)).rows;
  if (!row) return null;
  const { pid, application, role, address, connectedAt, state, stateAt } = row;
  if (pid === null) return { pid, words: "a prepared transaction (see pg_prepared_xacts)" };
  const seen = state
    ? `from ${address ?? "its own machine"}, connected since ${time(connectedAt)}, ${state} since ${time(stateAt)}`
    : "this role may not see its address and state: grant it pg_read_all_stats";
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

const time = (at: Date | null) => at?.toISOString() ?? "an unknown time";
const capital = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);
const inWords = (ms: number) => (ms < 60_000 ? `${ms / 1_000} s` : `${Math.round(ms / 60_000)} min`);

function stillLocked({ pid, words }: Holder, waited: string): KitError {
  const end = pid === null ? "ROLLBACK PREPARED" : `SELECT pg_terminate_backend(${pid})`;
  return new KitError(
    "migration_locked",
    `Waited ${waited} for the lock of migrations, which is held by ${words}. If that is at work, wait for its end (kit migrate --wait MINUTES waits longer). Otherwise end it, by ${end}, and run this again: an idle one may be a pooler's session in which an older release of the kit left the lock.`,
  );
}
