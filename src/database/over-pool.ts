import type pg from "pg";
import type { PrismaClient } from "./client/client.ts";
import type { Database, DatabaseLog } from "./types.ts";
import { bytesInBinary } from "./byte-arrays.ts";
import { createConnections } from "./connections.ts";
import { KitError } from "../errors.ts";
import { isDiskFull, leavesConnectionSound } from "./failure.ts";
import { pendingMigrations } from "./migrate.ts";
import { tryRoomOnDisk } from "./room-on-disk.ts";
import { statement, type Queryable } from "./statement.ts";
import { inTransaction, type Send } from "./transaction.ts";

type Needs = {
  kind: Database["kind"];
  pool: pg.Pool;
  /** Connections for statements with generic plans only; without them these use `pool` too. */
  genericPlanPool?: pg.Pool;
  close?: () => Promise<void>;
  log: DatabaseLog;
};

/**
 * The database answers, but every write to it fails: a standby, or a server made read-only because its disk is full.
 */
export class TakesNoWrites extends KitError {
  constructor() {
    super("database_read_only", "the database takes no writes: it is read-only");
  }
}

const PING = statement("ping", `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly"`);

/** A database over pools of connections; Prisma uses `pool`. `close` is called after the pools have ended. */
export function overPool({ kind, pool, genericPlanPool, close, log }: Needs): Database {
  const send = kind === "postgresql" ? sendNamed : sendUnnamed;
  const connections = createConnections(pool, genericPlanPool, log);
  let prisma: Promise<PrismaClient> | undefined;
  // True from the first error of a full disk until the disk has room again.
  let isShortOfRoom = false;

  const query: Queryable["query"] = async (statement, values) => {
    const client = await connections.take(statement.hasGenericPlan);
    let isSound = false;
    try {
      const rows = await send(client, statement, values);
      isSound = true;
      return rows as never;
    } catch (error) {
      isSound = leavesConnectionSound(error);
      isShortOfRoom ||= isDiskFull(error);
      throw error;
    } finally {
      client.release(!isSound);
    }
  };

  const transaction: Database["transaction"] = async (work) => {
    try {
      return await inTransaction(connections.take, send, work);
    } catch (error) {
      isShortOfRoom ||= isDiskFull(error);
      throw error;
    }
  };

  const tryRoom = async () => {
    await tryRoomOnDisk({ transaction });
    isShortOfRoom = false;
  };

  return {
    kind,
    query,
    transaction,
    prisma: () => (prisma ??= openPrisma(pool)),
    async ping() {
      const [answer] = await query<{ isReadOnly: boolean }>(PING);
      if (answer?.isReadOnly) throw new TakesNoWrites();
      // Pings come every few seconds, so they write only if there is reason to: perhaps no other caller writes then.
      if (isShortOfRoom) await tryRoom();
    },
    tryRoom,
    pendingMigrations: () => pendingMigrations({ query }),
    connections: connections.counts,
    async close() {
      await (await prisma)?.$disconnect();
      await connections.end();
      await close?.();
    },
  };
}

/** PostgreSQL parses a named statement once per connection, which saves it a quarter of the work. */
const sendNamed: Send = async (client, { name, text }, values = []) =>
  (await client.query({ name, text, values: values.map(bytesInBinary) })).rows;

/** All connections to the embedded database share one session, in which their named statements would collide. */
const sendUnnamed: Send = async (client, { text }, values = []) =>
  (await client.query({ text, values: values.map(bytesInBinary) })).rows;

async function openPrisma(pool: pg.Pool): Promise<PrismaClient> {
  const [{ PrismaClient }, { PrismaPg }] = await Promise.all([
    import("./client/client.ts"),
    import("@prisma/adapter-pg"),
  ]);
  return new PrismaClient({ adapter: new PrismaPg(pool) });
}
