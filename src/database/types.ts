import type { PrismaClient } from "./client/client.ts";
import type { Queryable } from "./statement.ts";

/** Where the database logs its warnings; a pino logger fits. */
export type DatabaseLog = { warn(fields: object, message: string): void };

/**
 * A PostgreSQL or the embedded database. Statements go through `query`; Prisma serves two of the operator's reads, on
 * connections that are not for statements with generic plans.
 */
export type Database = Queryable & {
  readonly kind: "postgresql" | "embedded";
  /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** The Prisma client; loaded when first asked for. */
  prisma(): Promise<PrismaClient>;
  /**
   * Resolves if the database answers and takes writes, within the limits of its connections (pool.ts, embedded.ts);
   * rejects with `TakesNoWrites` if it is read-only. After a statement of this process has met a full disk, it also
   * calls `tryRoom`.
   */
  ping(): Promise<void>;
  /**
   * Resolves if the database's disk has room, by writing temporary blocks there. Rejects with PostgreSQL's 53100 if
   * not.
   */
  tryRoom(): Promise<void>;
  /**
   * The migrations that the database lacks, oldest first. The embedded one lacks some only if an older service has it
   * open.
   */
  pendingMigrations(): Promise<string[]>;
  /** How many connections this process has, and how many callers wait for one. */
  connections(): { inUse: number; idle: number; waiting: number };
  /** Waits for what is under way, then closes every connection. Call it once, and last. */
  close(): Promise<void>;
};
