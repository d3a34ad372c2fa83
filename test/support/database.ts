import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import type { DatabaseSettings } from "../../src/database/database.ts";
import { isOwned } from "../../src/database/embedded/ownership.ts";
import { embeddedTemplate, postgresqlTemplate } from "./database-template.ts";

/** A migrated, empty database for one test file. */
export type FreshDatabase = {
  /** For `openDatabase`; may be opened several times, also by other processes. */
  settings: DatabaseSettings;
  /** The same as environment variables, for a process that uses it. */
  environment: { DATA_DIR: string; DATABASE_URL?: string };
  /** Removes it. Throws if anything is still connected: each test closes what it has opened. */
  close(): Promise<void>;
};

/** Set: the tests run on that PostgreSQL, with a role that may create databases. Unset: on the embedded database. */
export const testServerUrl = process.env["TEST_DATABASE_URL"];

/** Copies a template, which is built once for each version of the migrations. */
export async function aFreshDatabase(): Promise<FreshDatabase> {
  return testServerUrl ? aPostgresqlDatabase(testServerUrl) : anEmbeddedDatabase();
}

/** The same, but always embedded. */
export async function anEmbeddedDatabase(): Promise<FreshDatabase> {
  const dataDir = await aFolder();
  // A thousand files: copying them in this process would cost as much as opening the database.
  await promisify(execFile)("cp", ["-R", `${await embeddedTemplate()}/.`, dataDir]);
  return {
    settings: { dataDir, role: "owner", poolSize: 5 },
    environment: { DATA_DIR: dataDir },
    close: () => removeEmbedded(dataDir),
  };
}

const aFolder = () => mkdtemp(path.join(tmpdir(), "addon-test-"));

async function removeEmbedded(dataDir: string): Promise<void> {
  const isStillOpen = await isOwned(path.join(dataDir, "postgresql"));
  // A process that is still there may write to it meanwhile.
  await rm(dataDir, { recursive: true, maxRetries: 10 });
  if (isStillOpen) throw new Error("the test has ended, and its embedded database is still open");
}

async function aPostgresqlDatabase(serverUrl: string): Promise<FreshDatabase> {
  const template = await postgresqlTemplate(serverUrl);
  const name = `addon_test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
  await administer(serverUrl, (ask) => ask(`CREATE DATABASE ${name} TEMPLATE ${template}`));
  const dataDir = await aFolder();
  const url = databaseUrl(serverUrl, name);
  return {
    settings: { url, dataDir, role: "owner", poolSize: 8 },
    environment: { DATA_DIR: dataDir, DATABASE_URL: url },
    close: () => drop(serverUrl, name).finally(() => rm(dataDir, { recursive: true })),
  };
}

/** The URL of another database on the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function drop(serverUrl: string, name: string): Promise<void> {
  return administer(serverUrl, async (ask) => {
    const connected = await stillConnected(ask, name);
    await ask(`DROP DATABASE ${name} WITH (FORCE)`);
    if (connected.length > 0) throw new Error(`the test has ended, still connected: ${connected.join(", ")}`);
  });
}

type Ask = (text: string) => Promise<Record<string, unknown>[]>;

/**
 * The sessions that are still connected. Waits up to a second, because a session ends a moment after its client has
 * closed the connection.
 */
async function stillConnected(ask: Ask, database: string): Promise<unknown[]> {
  for (let tries = 1; ; tries++) {
    const sessions = await ask(
      `SELECT application_name, query FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    if (sessions.length === 0 || tries === 20) return sessions.map((session) => JSON.stringify(session));
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
