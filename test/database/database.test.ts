import { randomBytes } from "node:crypto";
import {
  createPool,
  type Database,
  type DatabaseSettings,
  openDatabase,
} from "../../src/database/database.ts";
import {
  createOutageWatch,
  isConnectionConfigError,
  isTransient,
  retryWhileUnreachable,
} from "../../src/database/retry.ts";
import { positional } from "../../src/database/statement.ts";
import { administer } from "../support/database.ts";
import { kitJson } from "../support/kit.ts";
import { anOpenDatabase } from "../support/open-database.ts";
import { basic } from "../support/partner-calls.ts";
import { aWorld, eventually } from "../support/world.ts";

const opened = anOpenDatabase();
const run = (text: string, values: unknown[] = []) =>
  opened.database.query(positional(text.slice(0, 60), text), values);
beforeEach(() => run("DELETE FROM heartbeats"));

const insert = positional("insert", `INSERT INTO heartbeats (name) VALUES ($1)`);
const names = async () =>
  (await run("SELECT name FROM heartbeats ORDER BY name")).map((row) => (row as { name: string }).name);

/** The same database, opened with other settings while `work` runs. */
async function withDatabase<T>(
  change: Partial<DatabaseSettings>,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const database = openDatabase({ ...opened.settings, ...change });
  return work(database).finally(() => database.close());
}
const withQuery = (query: string) => ({ url: `${opened.settings.url}?${query}` });

describe("a statement", () => {
  it("is planned with our settings, of which the options in DATABASE_URL override only those that nothing relies on", async () => {
    const options = encodeURIComponent("-c search_path=pg_temp -c random_page_cost=2");
    const settings = ["plan_cache_mode", "random_page_cost", "search_path", "jit"];
    const read = positional(
      "settings",
      `SELECT current_setting(name) AS value FROM unnest($1::text[]) AS name`,
    );
    const rows = await withDatabase(withQuery(`options=${options}`), (db) =>
      db.query<{ value: string }>(read, [settings]),
    );
    expect(rows.map(({ value }) => value)).toEqual(["force_generic_plan", "2", "public", "off"]);
  });

  it("whose table has changed since it was planned is run at once, on each connection", async () => {
    await run(`CREATE TABLE kettles (id int)`);
    const all = positional("all_kettles", "SELECT * FROM kettles");
    await withDatabase({ poolSize: 3 }, async (db) => {
      const readThrice = () => Promise.all([1, 2, 3].map(() => db.query(all)));
      await readThrice();
      await run(`ALTER TABLE kettles ADD colour text DEFAULT 'red'`);
      await run(`INSERT INTO kettles VALUES (1)`);
      const rows = [{ id: 1, colour: "red" }];
      expect(await readThrice()).toEqual([rows, rows, rows]);
      await expect(db.transaction((tx) => tx.query(all))).resolves.toEqual(rows);
    });
    await run(`DROP TABLE kettles`);
  });

  it("with a bigint that a number cannot hold throws instead of rounding", async () => {
    await expect(run(`SELECT 9007199254740993::bigint`)).rejects.toThrow(RangeError);
  });

  it.each([
    ["statement_timeout=1000", "canceling statement due to statement timeout"],
    ["query_timeout=1000", "Query read timeout"],
  ])(
    "that takes too long is given up, and one that reads whole tables is not: %s",
    async (limit, message) => {
      await withDatabase(withQuery(limit), async (db) => {
        const sleep = positional("sleep", `SELECT pg_sleep(1.5)`);
        await expect(db.query(sleep)).rejects.toThrow(message);
        expect(await db.readWhole(sleep)).toHaveLength(1);
      });
    },
  );

  it("that reads whole tables may be in a transaction whose commit takes as long", async () => {
    await run(`CREATE TABLE naps (id int)`);
    await run(`CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END $$`);
    await run(`CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON naps DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION nap()`);
    const nap = positional("nap", `INSERT INTO naps VALUES (1) RETURNING id`);
    for (const limit of ["statement_timeout=1000", "query_timeout=1000"])
      await withDatabase(withQuery(limit), async (db) =>
        expect(await db.planned((tx) => tx.query(nap))).toEqual([{ id: 1 }]),
      );
    expect(await run(`SELECT id FROM naps`)).toHaveLength(2);
  });

  it("fails without harm to its connection, however many fail", async () => {
    const mistakes = Array.from({ length: 20 }, (_, i) =>
      i % 2 ? run(`SELECT 1 / $1::int`, [0]) : opened.database.transaction((tx) => tx.query(insert, [null])),
    );
    const answers = await Promise.allSettled(mistakes);
    expect(answers.map(({ status }) => status)).toEqual(mistakes.map(() => "rejected"));
    await opened.database.ping();
    expect(opened.database.connections()).toMatchObject({ inUse: 0, waiting: 0 });
  });
});

describe("a transaction", () => {
  it("whose work throws leaves nothing, and throws that error", async () => {
    const mistake = new Error("changed my mind");
    const work = opened.database.transaction(async (tx) => {
      await tx.query(insert, ["one"]);
      throw mistake;
    });
    await expect(work).rejects.toBe(mistake);
    expect(await names()).toEqual([]);
  });

  it("that swallowed an error does not resolve as a success", async () => {
    const work = opened.database.transaction(async (tx) => {
      await tx.query(insert, ["one"]);
      await tx.query(insert, ["one"]).catch(() => undefined);
    });
    await expect(work).rejects.toThrow("rolled back");
    expect(await names()).toEqual([]);
  });

  it("that is left open on a returned connection takes nobody else's statement with it", async () => {
    const pool = createPool({ connectionString: opened.settings.url, max: 1 });
    const careless = await pool.connect();
    await careless.query("BEGIN");
    careless.release();
    await pool.query(insert.text, ["kept"]);
    await pool.end();
    expect(await names()).toEqual(["kept"]);
  });
});

it("sessions that are killed, busy or idle, cost only a retry", async () => {
  const wait = positional("wait", `SELECT pg_advisory_xact_lock(1)`);
  await administer(opened.settings.url, async (ask) => {
    await ask(`SELECT pg_advisory_lock(1)`);
    const waiting = Array.from({ length: 3 }, () => retryWhileUnreachable(() => opened.database.query(wait)));
    const inTransaction = retryWhileUnreachable(() =>
      opened.database.transaction(async (tx) => {
        await tx.query(wait);
        await tx.query(insert, ["survivor"]);
      }),
    );
    const held = `FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await eventually(async () => expect(await ask(`SELECT pid ${held}`)).toHaveLength(4));
    await ask(`SELECT pg_terminate_backend(pid) ${held}`);
    await ask(`SELECT pg_advisory_unlock(1)`);
    await Promise.all([...waiting, inTransaction]);
    await ask(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    const after = Array.from({ length: 4 }, () => retryWhileUnreachable(() => names()));
    expect(await Promise.all(after)).toEqual(Array(4).fill(["survivor"]));
  });
});

it("a database that lets nobody in is worth another try, and each outage is logged when it begins and ends", async () => {
  const role = `addon_locked_${randomBytes(5).toString("hex")}`;
  const logged: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => void logged.push(line), error: () => undefined };
  const url = Object.assign(new URL(opened.settings.url), { username: role, password: "one" });
  const refusal = (db: Database) =>
    // Another error may come first, such as that of a connection that was ended.
    retryWhileUnreachable(() => db.ping(), {
      ...{ upToMs: 60_000, isCurable: (error) => isTransient(error) && !isConnectionConfigError(error) },
    }).catch((error: unknown) => error);
  await run(`CREATE ROLE ${role} LOGIN PASSWORD 'one'`);
  let noticed: (error: unknown) => void;
  await withDatabase({ url: url.href, onError: (error) => noticed(error) }, async (db) => {
    const watch = createOutageWatch({ ping: db.ping, log });
    noticed = watch.noticed;
    for (const outages of [1, 2]) {
      await retryWhileUnreachable(() => db.ping());
      await run(`ALTER ROLE ${role} NOLOGIN`);
      await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
      const errors = await Promise.all(Array.from({ length: 10 }, () => refusal(db)));
      for (const error of errors)
        expect([isTransient(error), isConnectionConfigError(error)]).toEqual([true, true]);
      await eventually(() => expect(logged).toHaveLength(2 * outages - 1));
      await run(`ALTER ROLE ${role} LOGIN`);
      await eventually(() => expect(logged).toHaveLength(2 * outages));
    }
    await watch.close();
  });
  await run(`DROP ROLE ${role}`);
  const reason = `role "${role}" is not permitted to log in`;
  expect(logged.slice(0, 2)).toEqual([
    [{ reason }, expect.stringContaining("is unreachable")],
    [{ seconds: expect.any(Number) }, "The database is reachable again"],
  ]);
});

it("a caller who waits in vain for one of our connections is no outage of the database", async () => {
  const logged: unknown[] = [];
  await withDatabase({ poolSize: 1, onError: (error) => void logged.push(error) }, async (db) => {
    const busy = db.readWhole(positional("busy", `SELECT pg_sleep(4)`));
    const error = await db.ping().catch((thrown: unknown) => thrown);
    expect([(error as Error).message, isTransient(error)]).toEqual([
      "timeout exceeded when trying to connect",
      true,
    ]);
    await busy;
  });
  expect(logged).toEqual([]);
});

it("what the server or the role has set for each session changes nothing: times, lists, migrations", async () => {
  const OPERATOR_PASSWORD = "the-password-of-this-test";
  const world = await aWorld({ environment: { OPERATOR_PASSWORD } });
  const url = world.environment["DATABASE_URL"]!;
  const name = `"${new URL(url).pathname.slice(1)}"`;
  await administer(url, async (ask) => {
    for (const set of [
      ...["TimeZone = 'Asia/Tokyo'", "DateStyle = 'German'", "bytea_output = 'escape'"],
      ...["search_path = 'elsewhere'", "default_transaction_isolation = 'serializable'"],
    ])
      await ask(`ALTER DATABASE ${name} SET ${set}`);
  });
  await world.restart();
  const uuid = await world.settled();
  const { data } = await kitJson<{ credential: { expiresAt: string }; createdAt: string }>(
    world.environment,
    [...["resources", "show", uuid]],
  );
  const hoursTo = (time: string) => Math.round((Date.parse(time) - Date.now()) / 3_600_000);
  expect([hoursTo(data.createdAt), hoursTo(data.credential.expiresAt)].map(Math.abs)).toEqual([0, 8]);
  const list = await kitJson<{ resources: { uuid: string }[] }>(world.environment, ["resources", "list"]);
  expect(list.data.resources.map(({ uuid }) => uuid)).toEqual([uuid]);
  const headers = { Authorization: basic("operator", OPERATOR_PASSWORD) };
  for (const page of ["", "/resources", `/resources/${uuid}`, "/actions"])
    expect((await fetch(`${world.service.url}/operator${page}`, { headers })).status).toBe(200);
  expect(await kitJson(world.environment, ["migrate"])).toMatchObject({ code: 0, data: { applied: [] } });
  await world.close();
});
