import { createHmac } from "node:crypto";
import pg from "pg";
import type { YourSettings } from "./settings.ts";

/** What we sell: a drawer is a schema of our PostgreSQL, and a role that owns it and nothing else. */
export type Product = ReturnType<typeof createProduct>;

/** Short enough that a database which is away becomes "later" before the platform's patience ends. */
const CONNECT_MS = 2_000;
/** The server ends it then: what goes on there while nobody waits for it any more could make what nobody takes away. */
const LONGEST_STATEMENT_MS = 20_000;
/** A full drawer takes long to empty, and cut off it would begin anew; the kit gives the whole call ten minutes. */
const LONGEST_DROP_MS = 9 * 60_000;
/** For a server that does not even answer that. */
const GRACE_MS = 2_000;

/** Nothing connects before the first drawer is asked for. */
export function createProduct({ productDatabaseUrl, productPasswordKey }: YourSettings) {
  const url = productDatabaseUrl.reveal();
  const patientFor = (ms: number) => ({
    ...{ connectionString: url, connectionTimeoutMillis: CONNECT_MS },
    ...{ statement_timeout: ms, query_timeout: ms + GRACE_MS },
  });
  const pool = new pg.Pool({ ...patientFor(LONGEST_STATEMENT_MS), max: 4, allowExitOnIdle: true });
  // An idle connection that breaks is no reason to end the process; the next question opens another.
  pool.on("error", () => undefined);

  /** The same at each call, so that no answer ever differs from an earlier one; nothing has to be stored. */
  const passwordOf = (uuid: string) =>
    createHmac("sha256", productPasswordKey.reveal()).update(uuid).digest("base64url");

  async function ask<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await pool.query(text, values)).rows as Row[];
  }
  /** On a connection of its own, so that the others are free meanwhile. It is cut when `signal` says stop. */
  async function askAtLength(text: string, signal: AbortSignal): Promise<void> {
    const client = new pg.Client(patientFor(LONGEST_DROP_MS));
    client.on("error", () => undefined);
    const cut = () => void client.end().catch(() => undefined);
    signal.addEventListener("abort", cut, { once: true });
    try {
      await client.connect();
      await client.query(text);
    } finally {
      signal.removeEventListener("abort", cut);
      await client.end();
    }
  }
  const exists = async (name: string) =>
    (await ask(`SELECT 1 FROM pg_roles WHERE rolname = $1`, [name])).length > 0;

  return {
    /** Makes the drawer, or what is still missing of it: all of it or nothing, however often it is called. */
    async make(uuid: string, connections: number): Promise<void> {
      const name = nameOf(uuid);
      await ask(`
        DO $$ BEGIN
          ${inTurn(name)}
          IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN
            CREATE ROLE ${name} LOGIN PASSWORD '${passwordOf(uuid)}';
            GRANT ${name} TO CURRENT_USER;
            ALTER ROLE ${name} SET search_path = ${name};
            CREATE SCHEMA ${name} AUTHORIZATION ${name};
          END IF;
          ALTER ROLE ${name} CONNECTION LIMIT ${connections};
        END $$`);
    },

    /** How much a drawer holds, in MB, rounded up. */
    async megabytes(uuid: string): Promise<number> {
      const [row] = await ask<{ bytes: string }>(
        `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes
           FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = $1 AND c.relkind IN ('r', 'm')`,
        [nameOf(uuid)],
      );
      return Math.ceil(Number(row!.bytes) / 1_000_000);
    },

    /** Takes the drawer down with all that is in it. Left half done, it goes on where it stopped. */
    async drop(uuid: string, signal: AbortSignal): Promise<void> {
      const name = nameOf(uuid);
      // What still makes it is waited for: it would be found by nobody afterwards.
      await ask(`
        DO $$ BEGIN
          ${inTurn(name)}
          IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN ALTER ROLE ${name} NOLOGIN; END IF;
        END $$`);
      if (!(await exists(name))) return;
      await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, [name]);
      await askAtLength(
        `DO $$ BEGIN ${inTurn(name)} DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}; END $$`,
        signal,
      );
    },

    /** Where the customer's app finds its drawer. */
    urlOf(uuid: string): string {
      return Object.assign(new URL(url), { username: nameOf(uuid), password: passwordOf(uuid) }).href;
    },

    close: () => pool.end(),
  };
}

/** Of two statements about one drawer the second begins once the first is committed. */
const inTurn = (name: string) => `PERFORM pg_advisory_xact_lock(hashtext('${name}'));`;

/** From the uuid, so that a second call finds what the first made. The kit lets nothing but a uuid in here. */
function nameOf(uuid: string): string {
  return `drawer_${uuid.replaceAll("-", "")}`;
}
