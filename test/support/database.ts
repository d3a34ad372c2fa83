import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { DatabaseSettings } from "../../src/database/database.ts";

/** A migrated, empty database for one test file. */
export type FreshDatabase = {
  /** For `openDatabase`; may be opened several times, also by other processes. */
  settings: DatabaseSettings;
  /** The same as environment variables, for a process that uses it. */
  environment: { DATABASE_URL: string };
  /** Removes it. Throws if anything is still connected: each test closes what it has opened. */
  close(): Promise<void>;
};

/** The server that all tests of a run share (test-server.ts): a role there may create databases. */
export const testServerUrl = (): string => process.env["TEST_SERVER_URL"]!;

/** Copies the template of test-server.ts. */
export async function aFreshDatabase(): Promise<FreshDatabase> {
  const name = `addon_test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
  const template = process.env["TEST_TEMPLATE"]!;
  await administer(testServerUrl(), (ask) =>
    ask(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`),
  );
  const url = databaseUrl(testServerUrl(), name);
  return { settings: { url, poolSize: 8 }, environment: { DATABASE_URL: url }, close: () => drop(name) };
}

/** The URL of another database on the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * Limits of the driver and of the server that a machine which stands still for seconds does not pass. Those of the service
 * (PATIENCE in src/database/database.ts) are its own where they are the subject of a test: see {@link impatient}.
 */
const PATIENT = { connectionTimeoutMillis: 60_000, statement_timeout: 60_000, query_timeout: 65_000 };

/** The same address with these limits. */
export function patient(url: string, limits: Record<string, number> = PATIENT): string {
  const patient = new URL(url);
  for (const [name, ms] of Object.entries(limits)) patient.searchParams.set(name, String(ms));
  return patient.href;
}

/** The same address with the limits that the service has. */
export function impatient(url: string): string {
  const impatient = new URL(url);
  for (const name of Object.keys(PATIENT)) impatient.searchParams.delete(name);
  return impatient.href;
}

/** The same for what a test itself asks, which may wait for a row that the service holds. */
export const forTests = (url: string) => patient(url, { ...PATIENT, lock_timeout: 60_000 });

function drop(name: string): Promise<void> {
  return administer(testServerUrl(), async (ask) => {
    const connected = await stillConnected(ask, name);
    await ask(`DROP DATABASE ${name} WITH (FORCE)`);
    if (connected.length > 0) throw new Error(`the test has ended, still connected: ${connected.join(", ")}`);
  });
}

type Ask = (text: string) => Promise<Record<string, unknown>[]>;

/**
 * The sessions that are still connected. Waits for them, because a session ends a moment after its client has closed the
 * connection.
 */
async function stillConnected(ask: Ask, database: string): Promise<unknown[]> {
  for (let tries = 1; ; tries++) {
    const sessions = await ask(
      `SELECT application_name, query FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    if (sessions.length === 0 || tries === 400) return sessions.map((session) => JSON.stringify(session));
    await sleep(50);
  }
}

/** Runs `work` with a connection of its own to the server. */
export async function administer<T>(serverUrl: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    return await work(async (text) => (await client.query<Record<string, unknown>>(text)).rows);
  } finally {
    await client.end();
  }
}
