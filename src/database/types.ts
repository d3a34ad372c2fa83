import type { PrismaClient } from "./client/client.ts";
import type { Queryable } from "./statement.ts";

/** What the database has to say; a pino logger fits. */
export type DatabaseLog = { warn(fields: object, message: string): void };

/**
 * One database, whichever it is. Statements go through `query`; Prisma serves two reads of an operator's, on the
 * connections that are not for busy statements.
 */
export type Database = Queryable & {
  readonly kind: "postgresql" | "embedded";
  /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** The Prisma client; loaded when first asked for. */
  prisma(): Promise<PrismaClient>;
  /**
   * Resolves if the database answers and takes writes, within the usual limits (5 s at most). That its disk is full it
   * knows from what failed for that in this process, and then tries.
   */
  ping(): Promise<void>;
  /** Resolves if there is room on the database's disk; it is tried, and nothing stays of that. Rejects with 53100 if not. */
  tryRoom(): Promise<void>;
  /** The migrations that the database still lacks, oldest first. On the embedded one, none but beside an older service. */
  pendingMigrations(): Promise<string[]>;
  /** What this process has of connections, and how many statements wait for one. */
  connections(): { inUse: number; idle: number; waiting: number };
  /** Waits for what is under way, then closes every connection. Once, and last. */
  close(): Promise<void>;
};
