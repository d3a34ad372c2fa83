import { execFileSync } from "node:child_process";
import path from "node:path";
import pg from "pg";

/** A database for one contestant, with our schema. */
export interface Database {
  url: string;
  ask<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

export interface Databases {
  /**
   * `flushMs` is added to the time that each flush of a commit to the disk takes, in ms (PostgreSQL's `commit_delay`).
   */
  create(wishes?: { flushMs?: number }): Promise<Database>;
  /** Drops the remaining databases. */
  close(): Promise<void>;
}

const TEMPLATE = `bench_template_${process.pid}`;

/** Creates databases on `serverUrl`. The schema is made once, with the service's own command, and then copied. */
export async function createDatabases(
  serverUrl: string,
  dist: string,
  settings: Record<string, string>,
): Promise<Databases> {
  const admin = new pg.Pool({ connectionString: serverUrl, max: 1 });
  admin.on("error", () => undefined);
  const urlOf = (name: string) => Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const made = new Set<string>();
  let count = 0;
  const drop = async (name: string) =>
    void (await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));

  await admin.query(`CREATE DATABASE ${TEMPLATE}`);
  try {
    execFileSync(process.execPath, [path.join(dist, "kit.js"), "migrate"], {
      env: { PATH: process.env["PATH"], ...settings, DATABASE_URL: urlOf(TEMPLATE) },
    });
  } catch (error) {
    await drop(TEMPLATE);
    throw error;
  }

  return {
    async create({ flushMs = 0 } = {}) {
      const name = `bench_${process.pid}_${++count}`;
      made.add(name);
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
      if (flushMs > 0) {
        await admin.query(`ALTER DATABASE ${name} SET commit_delay = ${flushMs * 1_000}`);
        await admin.query(`ALTER DATABASE ${name} SET commit_siblings = 0`);
      }
      const pool = new pg.Pool({ connectionString: urlOf(name), max: 1 });
      pool.on("error", () => undefined);
      return {
        url: urlOf(name),
        ask: async <Row extends object>(text: string, values: unknown[] = []) =>
          (await pool.query<Row>(text, values)).rows,
        async drop() {
          await pool.end();
          await drop(name);
          made.delete(name);
        },
      };
    },
    async close() {
      for (const name of [...made, TEMPLATE]) await drop(name);
      await admin.end();
    },
  };
}
