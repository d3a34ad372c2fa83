import { createHmac } from "node:crypto";
import pg from "pg";
import type { YourSettings } from "./settings.ts";

/**
 * The product: a drawer is a schema in our PostgreSQL, and a role that owns only that schema. Its customer signs in as that
 * role, or, once the password was rotated, as another that is a member of it.
 */
export type Product = ReturnType<typeof createProduct>;

/** Short enough that the kit answers "later" within the platform's time limit when the database is away. */
const CONNECT_MS = 2_000;
/**
 * The server cancels a statement then: one that goes on when nobody waits for it could create something that is never
 * removed.
 */
const LONGEST_STATEMENT_MS = 20_000;
/**
 * A full drawer takes long to drop, and a cancelled drop starts again; the kit allows ten minutes for the whole call.
 */
const LONGEST_DROP_MS = 9 * 60_000;
/** Added for a server that does not even report the timeout. */
const GRACE_MS = 2_000;

/** Connects only when the first drawer is needed. */
export function createProduct({ productDatabaseUrl, productPasswordKey }: YourSettings) {
  const url = productDatabaseUrl.reveal();
  const patientFor = (ms: number) => ({
    ...{ connectionString: url, connectionTimeoutMillis: CONNECT_MS },
    ...{ statement_timeout: ms, query_timeout: ms + GRACE_MS },
  });
  const pool = new pg.Pool({ ...patientFor(LONGEST_STATEMENT_MS), max: 4, allowExitOnIdle: true });
  // An idle connection that breaks must not end the process; the next query opens another.
  pool.on("error", () => undefined);

  /** Computed, so that repeated answers are equal and nothing has to be stored. `of`: the uuid, or a further login. */
  const passwordOf = (of: string) =>
    createHmac("sha256", productPasswordKey.reveal()).update(of).digest("base64url");

  async function ask<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await pool.query(text, values)).rows as Row[];
  }
  /**
   * Runs a statement on a connection of its own, so that the pool stays free. The connection is closed when `signal` is
   * aborted.
   */
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
  /** The latest login of a drawer. */
  async function loginOf(name: string): Promise<string> {
    const [row] = await ask<{ login: string | null }>(
      `SELECT shobj_description(oid, 'pg_authid') AS login FROM pg_roles WHERE rolname = $1`,
      [name],
    );
    return row?.login ?? name;
  }
  const exists = async (name: string) =>
    (await ask(`SELECT 1 FROM pg_roles WHERE rolname = $1`, [name])).length > 0;

  return {
    /** Makes the drawer, or what is missing of it, in one transaction; idempotent. */
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
          ${forEachLogin(name, `ALTER ROLE %I CONNECTION LIMIT ${connections}`)}
        END $$`);
    },

    /**
     * Adds a login to the drawer, named after `key`, which `urlOf` answers from now on. Returns all others that work; the
     * same again, as long as they do.
     */
    async addLogin(uuid: string, key: string, connections: number): Promise<string[]> {
      const name = nameOf(uuid);
      const login = `${name}_${key.replaceAll("-", "").slice(0, 16)}`;
      await ask(`
        DO $$ BEGIN
          ${inTurn(name)}
          IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${login}') THEN
            CREATE ROLE ${login} LOGIN PASSWORD '${passwordOf(login)}' IN ROLE ${name} CONNECTION LIMIT ${connections};
            GRANT ${login} TO CURRENT_USER;
            ALTER ROLE ${login} SET search_path = ${name};
            ALTER ROLE ${login} SET role = ${name};
          END IF;
          COMMENT ON ROLE ${name} IS '${login}';
        END $$`);
      const others = await ask<{ rolname: string }>(
        `SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1) AND rolcanlogin AND rolname <> $2`,
        [name, login],
      );
      return others.map(({ rolname }) => rolname);
    },

    /** Ends a login of the drawer that `addLogin` has replaced, and its connections; idempotent. */
    async removeLogin(uuid: string, login: string): Promise<void> {
      const name = nameOf(uuid);
      if (login === (await loginOf(name)) || !(await exists(login))) return;
      await ask(`ALTER ROLE ${login} NOLOGIN`);
      await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1`, [login]);
      // The first login owns what is in the drawer.
      if (login !== name)
        await ask(`REASSIGN OWNED BY ${login} TO ${name}; DROP OWNED BY ${login}; DROP ROLE ${login}`);
    },

    /** The size of a drawer in MB, rounded up. */
    async megabytes(uuid: string): Promise<number> {
      const [row] = await ask<{ bytes: string }>(
        `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes
           FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = $1 AND c.relkind IN ('r', 'm')`,
        [nameOf(uuid)],
      );
      return Math.ceil(Number(row!.bytes) / 1_000_000);
    },

    /** Drops the drawer with everything in it. After a failure the next call goes on where it stopped. */
    async drop(uuid: string, signal: AbortSignal): Promise<void> {
      const name = nameOf(uuid);
      // Waits for a statement that is still making the drawer: otherwise its result would be left behind.
      await ask(`
        DO $$ BEGIN
          ${inTurn(name)}
          ${forEachLogin(name, "ALTER ROLE %I NOLOGIN")}
        END $$`);
      if (!(await exists(name))) return;
      await ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(usename, $1)`, [
        name,
      ]);
      await askAtLength(
        `DO $$ BEGIN
          ${inTurn(name)}
          ${forEachLogin(name, "DROP OWNED BY %1$I CASCADE; DROP ROLE %1$I")}
        END $$`,
        signal,
      );
    },

    /** The URL with which the customer's app connects to its drawer. */
    async urlOf(uuid: string): Promise<string> {
      const name = nameOf(uuid);
      const username = await loginOf(name);
      const password = passwordOf(username === name ? uuid : username);
      return Object.assign(new URL(url), { username, password }).href;
    },

    close: () => pool.end(),
  };
}

/** An advisory lock: of two statements about the same drawer, the second waits until the first is committed. */
const inTurn = (name: string) => `PERFORM pg_advisory_xact_lock(hashtext('${name}'));`;

/** Does something to each login of a drawer, the owner last, whose name all others begin with. */
const forEachLogin = (name: string, statement: string) => `
  DECLARE login text;
  BEGIN
    FOR login IN SELECT rolname FROM pg_roles WHERE starts_with(rolname, '${name}') ORDER BY rolname DESC LOOP
      EXECUTE format('${statement}', login);
    END LOOP;
  END;`;

/**
 * Derived from the uuid, so that a repeated call finds what the first made. The kit passes only valid uuids, so this is
 * safe in SQL.
 */
function nameOf(uuid: string): string {
  return `drawer_${uuid.replaceAll("-", "")}`;
}
