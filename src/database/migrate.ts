import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { KitError, messageOf } from "../errors.ts";
import { compareMigrations, remarksOn } from "./migration-comparison.ts";
import { beginTry, createTable, failTry, finishedIn, finishTry, recordIn } from "./migration-records.ts";
import {
  type Address,
  expectOwnSession,
  PATIENCE,
  type Patience,
  queryableOf,
  type Waiting,
  whileAlone,
  withSession,
} from "./migration-session.ts";
import { MARK_OUTSIDE, type Migration, placeIn, readMigration, seriesIn } from "./migrations.ts";
import { isConflict } from "./retry.ts";
import { indexOf, isConcurrent, type SqlStatement } from "./sql-statements.ts";
import { anyRow, oneRow, statement } from "./statement.ts";

interface Wishes extends Address {
  /** Other folders with migrations. */
  folder?: string;
  yours?: string;
  /** Called with a sentence about a wait for other sessions, and about edited or missing migrations. */
  say?(sentence: string): void;
  patience?: Partial<Patience>;
}

/** Names of migrations: `applied` by this call; `edited` since they were applied; `missing` from this build. */
export type Migrated = Record<"applied" | "edited" | "missing", string[]>;

/**
 * Applies the pending migrations and records them in the same table as `prisma migrate`. If two processes run it at once,
 * one applies a migration while the other waits. It needs a role with DDL rights, and sessions that no pooler shares.
 *
 * @throws KitError `migration_refused` before any migration is applied; `migration_failed`, after which the next run
 * begins the migration again; `migration_locked` after a long wait for another process; Misconfigured if the address is
 * wrong; the driver's errors if the database is unreachable
 */
export async function migrate(wishes: Wishes): Promise<Migrated> {
  const { folder, yours, say } = wishes;
  const all = seriesIn(folder, yours);
  const waiting: Waiting = { say, patience: { ...PATIENCE, ...wishes.patience } };
  await expectOwnSession(wishes, waiting.patience);
  const found = await withSession(wishes, all[0]!, (client) => compareMigrations(queryableOf(client), all));
  const pending = await Promise.all(found.pending.map(({ of, name }) => readMigration(of, name)));
  for (const remark of remarksOn(found)) say?.(remark);
  const applied: string[] = [];
  for (const migration of pending) if (await apply(migration, wishes, waiting)) applied.push(migration.shown);
  return { applied, edited: found.edited, missing: found.missing };
}

/**
 * Applies one migration, and retries while other sessions hold locks on its tables. Each attempt has a new session, so
 * that settings of an earlier script have no effect. Returns whether this process has applied the migration.
 */
async function apply(migration: Migration, address: Address, waiting: Waiting): Promise<boolean> {
  const { say, patience } = waiting;
  const { shown, of, isInTransaction } = migration;
  let until = Infinity;
  for (let tries = 1; ; tries++) {
    try {
      return await withSession(address, of, (client) =>
        whileAlone(client, isInTransaction ? "transaction" : "session", waiting, async () => {
          until = Math.min(until, performance.now() + patience.inAllMs);
          return (isInTransaction ? inTransaction : outsideTransaction)(client, migration, patience);
        }),
      );
    } catch (error) {
      if (!isConflict(causeOf(error)) || performance.now() > until) throw failure(migration, error);
      if (tries === 1)
        say?.(`${shown}: another session holds locks on its tables. Retrying until they are free.`);
      await sleep(patience.stepsBackMs);
    }
  }
}

const WHICH_TRANSACTION = "SELECT pg_current_xact_id()::text AS id";
/** A script may have changed the role to one without rights on the table of migrations. */
const AS_SESSION_ROLE = "RESET SESSION AUTHORIZATION; RESET ROLE";

/** Applies and records a migration in one transaction. */
async function inTransaction(
  client: pg.Client,
  migration: Migration,
  { lockMs }: Patience,
): Promise<boolean> {
  const { of, name, checksum, statements } = migration;
  await client.query(`SET LOCAL lock_timeout = ${lockMs}`);
  if (await isApplied(client, migration)) return false;
  const { id } = (await client.query<{ id: string }>(WHICH_TRANSACTION)).rows[0]!;
  for (const each of statements) {
    await run(client, each);
    // `readMigration` refuses scripts that end the transaction; this check is for those that it did not recognize.
    if (client.getTransactionStatus() !== "T") throw new StatementFailed(each, ENDED);
  }
  await client.query(AS_SESSION_ROLE);
  const isRecorded = await anyRow(queryableOf(client), recordIn(of), { checksum, name, transaction: id });
  if (!isRecorded) throw ENDED;
  await client.query("COMMIT");
  return true;
}

const ENDED = new Error("it ended the transaction in which it ran, so it may be applied in part");

/** Checked under the lock, because another process may have applied the migration during the wait. Creates the table. */
async function isApplied(client: pg.Client, { of, name }: Migration): Promise<boolean> {
  await client.query(createTable(of));
  return (await finishedIn(queryableOf(client), of)).some((each) => each.name === name);
}

/**
 * Applies a migration statement by statement; PostgreSQL commits each. After a run that failed, or whose process died, the
 * next run begins with the first statement. A statement counts as done if PostgreSQL reports that its object exists already
 * or is gone already.
 */
async function outsideTransaction(
  client: pg.Client,
  migration: Migration,
  { lockMs, inAllMs }: Patience,
): Promise<boolean> {
  const { of, name, checksum, statements } = migration;
  if (await isApplied(client, migration)) return false;
  // A statement with CONCURRENTLY does not block other sessions while it waits for a lock, so it may wait for long.
  await client.query(`SET lock_timeout = ${statements.some(isConcurrent) ? inAllMs : lockMs}`);
  const db = queryableOf(client);
  const { id, ...before } = (await oneRow(db, beginTry(of), { checksum, name }))!;
  for (const [done, each] of statements.entries()) {
    try {
      await run(client, each);
    } catch (error) {
      const cause = causeOf(error);
      if ((before.isCutOff || done < before.done) && isDoneAlready(cause, each)) continue;
      // Another severity means a lost connection: the outcome of the statement is unknown, so no failure is recorded.
      if (cause.severity === "ERROR" && !before.isCutOff) {
        await client.query(AS_SESSION_ROLE);
        await db.query(failTry(of), { id, done, logs: messageOf(cause) });
      }
      throw error;
    }
  }
  await client.query(AS_SESSION_ROLE);
  await db.query(finishTry(of), { id, done: statements.length });
  return true;
}

/**
 * The invalid indexes that an interrupted CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY has left. Queries do not use
 * them, writes maintain them, and IF NOT EXISTS takes them for the wanted index. `on`: the table or one of its indexes.
 * `index`: the name of the index; `null` for the names that REINDEX makes.
 */
const UNFINISHED_INDEXES = statement<{ on: string; index: string | null }, { index: string }>(
  "unfinished_indexes",
).sql(
  `SELECT indexrelid::regclass::text AS index FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
   -- The index of a partitioned table is left out: it is invalid until the indexes of all partitions exist.
   WHERE NOT indisvalid AND relkind = 'i'
     AND indrelid = COALESCE((SELECT i.indrelid FROM pg_index i WHERE i.indexrelid = to_regclass(:on)), to_regclass(:on))
     AND CASE WHEN :index::text IS NULL THEN relname ~ '_cc(new|old)[0-9]*$' ELSE relname = :index::name END`,
);

/** Drops the invalid indexes that an earlier attempt of the statement has left, then runs the statement. */
async function run(client: pg.Client, sql: SqlStatement): Promise<void> {
  try {
    const index = indexOf(sql);
    const unfinished = index ? await queryableOf(client).query(UNFINISHED_INDEXES, index) : [];
    const how = isConcurrent(sql) ? "CONCURRENTLY " : "";
    for (const each of unfinished) await client.query(`DROP INDEX ${how}${each.index}`);
    await client.query(sql.text);
  } catch (cause) {
    throw new StatementFailed(sql, cause);
  }
}

class StatementFailed extends Error {
  readonly statement: SqlStatement;

  constructor(statement: SqlStatement, cause: unknown) {
    super(messageOf(cause), { cause });
    this.statement = statement;
  }
}

/** The error of PostgreSQL, or of the driver, which has none of these members. */
const causeOf = (error: unknown) =>
  (error instanceof StatementFailed ? error.cause : error) as Partial<pg.DatabaseError>;

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const IS_THERE = /^(42P0[467]|42701|42710)$/;
const IS_GONE = /^(42P01|4270[34]|3D000)$/;

function isDoneAlready({ code = "" }: Partial<pg.DatabaseError>, { tokens }: SqlStatement): boolean {
  return (
    IS_THERE.test(code) || (IS_GONE.test(code) && tokens.some((token) => /^(drop|detach)$/i.test(token)))
  );
}

const OUTSIDE = `into a migration of its own whose first line is "${MARK_OUTSIDE}" (docs/extend-it.md)`;
const ADVICE: Readonly<Record<string, string>> = {
  "25001": `A migration runs in a transaction, where PostgreSQL refuses this. Put it ${OUTSIDE}`,
  "2D000": `A migration runs in a transaction, which code may not end. Put it ${OUTSIDE}`,
  "55P04": "Put what uses the new value into another migration, after this one",
};

function failure({ shown, file }: Migration, error: unknown): KitError {
  if (error instanceof KitError) return error;
  const cause = causeOf(error);
  const { detail, hint, where, code = "", position } = cause;
  const words = [
    `the migration ${shown} failed: ${messageOf(error)}`,
    error instanceof StatementFailed && placeIn(file, error.statement, position),
    detail && `Detail: ${detail}`,
    hint && `Hint: ${hint}`,
    where && `Context: ${where.split("\n")[0]}`,
    ADVICE[code],
  ].filter((each) => typeof each === "string");
  return new KitError("migration_failed", words.map((each) => each.replace(/\.?$/, ".")).join(" "), {
    cause,
  });
}
