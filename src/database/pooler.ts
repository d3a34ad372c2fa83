import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "./driver.ts";
import { messageOf, Misconfigured } from "../errors.ts";
import { withCa } from "./tls.ts";

// Connection poolers in front of PostgreSQL. One that pools sessions works; docs/scale.md says how to set it. One that
// pools transactions or statements lets its clients take turns on its sessions: named statements and locks of a session
// are lost there, or become another client's.

export const SHARES_SESSIONS =
  "The database's address is that of a connection pooler whose clients take turns on its sessions (transaction or statement pooling); the kit needs a session for each of its connections.";

export const HOW_TO_POOL =
  'Give it the address of the database itself, or have the pooler pool sessions: docs/scale.md, "Connection poolers".';

export const HOW_TO_BE_LET_IN =
  'Set ignore_startup_parameters there, or give the address of the database itself: docs/scale.md, "Connection poolers".';

export const sharedSessions = (cause?: unknown): Misconfigured =>
  new Misconfigured(`${SHARES_SESSIONS} ${HOW_TO_POOL}`, { cause });

/** How long to wait for a pooler that has no session left for us, in ms. */
const PATIENCE_MS = 1_000;
const ROUNDS = 3;

/**
 * Whether the clients of a PostgreSQL's address take turns on sessions. A busy pooler, or several at one address, can go
 * unnoticed; several servers behind one address that share the statements of a client are noticed too. Without a pooler
 * this takes one connection and one query. An address that does not work is no pooler's: whoever uses it is told why.
 */
export async function sharesSessions(url: string, ca?: string): Promise<boolean> {
  const settings = {
    ...withCa(url, ca),
    application_name: "addon-pooler-check",
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
  };
  const sockets = [new net.Socket(), new net.Socket()] as const;
  const [one, other] = sockets.map((socket) => new pg.Client({ ...settings, stream: () => socket })) as [
    pg.Client,
    pg.Client,
  ];
  for (const client of [one, other]) client.on("error", ignore);
  try {
    await one.connect();
    const first = await serverProcess(one);
    // The driver was told the number of the server's process as it connected; a pooler makes one up.
    if (first === toldProcess(one)) return false;
    await other.connect();
    for (let round = 0; round < ROUNDS; round++) if (await takesTurns(one, first, other)) return true;
    return false;
  } catch {
    return false;
  } finally {
    const ended = Promise.allSettled([one.end(), other.end()]);
    // A pooler that hangs does not close them.
    await Promise.race([ended, sleep(PATIENCE_MS, undefined, { ref: false })]);
    for (const socket of sockets) socket.destroy();
  }
}

/** Whether a client loses its session to another, or has different ones one after the other. */
async function takesTurns(one: pg.Client, first: number, other: pg.Client): Promise<boolean> {
  // A transaction keeps the session that it is given.
  if (!(await begins(other))) return true;
  if ((await serverProcess(other)) === first || (await serverProcess(one)) !== first) return true;
  await other.query("ROLLBACK");
  // Asked twice: poolers give out the session that was free for the shortest time, or for the longest.
  return (await serverProcess(one)) !== first || (await serverProcess(one)) !== first;
}

/** With statement pooling, a transaction cannot begin. */
async function begins(client: pg.Client): Promise<boolean> {
  try {
    await client.query("BEGIN");
    return true;
  } catch (error) {
    // A pooler gives everything that it refuses the same code.
    if (/transaction blocks not allowed/.test(messageOf(error))) return false;
    throw error;
  }
}

async function serverProcess(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]!.pid;
}

/** The driver keeps it for cancelling; its types do not tell of it. */
const toldProcess = (client: pg.Client) => (client as pg.Client & { processID: number }).processID;

function ignore(): void {}
