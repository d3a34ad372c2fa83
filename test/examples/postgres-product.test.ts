import { randomBytes } from "node:crypto";
import pg from "pg";
import { offer } from "../../examples/postgres-product/your-service/plans.ts";
import { addonManifest } from "../../src/offer.ts";
import { SALT } from "../people/customers.ts";
import { administer, databaseUrl, testServerUrl } from "../support/database.ts";
import type { ServiceProcess } from "../support/process.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import { programsSelling } from "../support/program.ts";
import { eventually, opened } from "../support/world.ts";
import { pressed } from "./customer.ts";

// The example of docs/make-it-yours.md with real processes, a sandbox and a PostgreSQL.

const drawers = opened(async () => {
  const product = await aProductDatabase();
  const life = await aProcessWorld({
    programs: await programsSelling("examples/postgres-product/your-service"),
    sandbox: { addonManifest: addonManifest("drawers", offer), ssoSalt: SALT },
    environment: {
      SWEEP_CRON: "* * * * * *",
      SSO_SALT: SALT,
      PRODUCT_DATABASE_URL: product.url,
      PRODUCT_PASSWORD_KEY: randomBytes(24).toString("hex"),
    },
  });
  return {
    ...life,
    /** Rows of the product's database, read as its vendor. */
    rows: <Row>(text: string, values: unknown[] = []) => as<Row>(product.url, text, values),
    async close() {
      await life.close();
      await product.close();
    },
  };
});
let service: ServiceProcess;
let url: string;
beforeAll(async () => {
  service = await drawers.start();
  url = service.url!;
});

/** Rows of a statement, run on a connection of its own with this URL. */
async function as<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  // Its role may be ended meanwhile.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** A database on the server, and a role for its vendor that is not a superuser. */
async function aProductDatabase() {
  const serverUrl = testServerUrl();
  const name = `drawers_${randomBytes(5).toString("hex")}`;
  await administer(serverUrl, async (one) => {
    await one(`CREATE ROLE ${name} LOGIN CREATEROLE PASSWORD 'vendor'`);
    await one(`CREATE DATABASE ${name} OWNER ${name}`);
  });
  return {
    url: Object.assign(new URL(databaseUrl(serverUrl, name)), { username: name, password: "vendor" }).href,
    close: () =>
      administer(serverUrl, async (one) => {
        await one(`DROP DATABASE ${name} WITH (FORCE)`);
        const drawers = await one(
          `SELECT DISTINCT m.rolname FROM pg_auth_members a JOIN pg_roles m ON m.oid = a.roleid
             JOIN pg_roles v ON v.oid = a.member WHERE v.rolname = '${name}'`,
        );
        for (const { rolname } of drawers) await one(`DROP ROLE ${String(rolname)}`);
        await one(`DROP ROLE ${name}`);
      }),
  };
}

/** Installed on an app of its own. */
async function installed(plan: string) {
  const { control } = drawers;
  const app = control.createApp({}).name;
  const { addon, response } = await control.install({ app, plan });
  const url = () => control.configVars(app)["DRAWER_URL"]!;
  return { uuid: addon.id, role: `drawer_${addon.id.replaceAll("-", "")}`, app, response, url };
}

async function roleOf({ role }: { role: string }) {
  const [found] = await drawers.rows<{ limit: number }>(
    `SELECT rolconnlimit AS limit, rolcanlogin AS login FROM pg_roles WHERE rolname = $1`,
    [role],
  );
  return found;
}
const schemas = () => drawers.rows(`SELECT nspname FROM pg_namespace WHERE nspname LIKE 'drawer%'`);

/** An operator has ended the step that retires an old password. */
const givenUp = (uuid: string) =>
  drawers.world.rows(`DELETE FROM steps WHERE uuid = $1 AND kind = 'retire' RETURNING id`, [uuid]);

/** As much data as the plan small allows, and more. */
const FILL = `CREATE TABLE filled AS SELECT repeat(md5(n::text), 50) AS text FROM generate_series(1, 8000) AS n`;

describe("a drawer of the example product", () => {
  it("exists when the platform is answered, and its address lets the customer connect", async () => {
    const drawer = await installed("small");
    expect(drawer.response).toMatchObject({ status: 200, body: { config: { DRAWER_URL: drawer.url() } } });
    expect(await roleOf(drawer)).toEqual({ limit: 3, login: true });
    await as(drawer.url(), `CREATE TABLE ${drawer.role}.notes AS SELECT 'mine' AS text`);
    expect(await as(drawer.url(), `SELECT text FROM ${drawer.role}.notes`)).toEqual([{ text: "mine" }]);
  });

  it("is accessible to its customer only, and allows the connections of its plan", async () => {
    const [mine, other] = [await installed("small"), await installed("small")];
    await as(mine.url(), `CREATE TABLE notes AS SELECT 'mine' AS text`);
    await expect(as(other.url(), `SELECT * FROM ${mine.role}.notes`)).rejects.toThrow("permission denied");
    await expect(as(other.url(), `ALTER ROLE ${mine.role} PASSWORD 'x'`)).rejects.toThrow(/denied/);
    const clients = Array.from({ length: 3 }, () => new pg.Client({ connectionString: mine.url() }));
    try {
      for (const client of clients) await client.connect();
      await expect(as(mine.url(), `SELECT 1`)).rejects.toThrow("too many connections for role");
    } finally {
      for (const client of clients) await client.end();
    }
  });

  it("refuses a plan that is too small for its content, with the reason", async () => {
    const drawer = await installed("large");
    await as(drawer.url(), FILL.replace("filled", `${drawer.role}.filled`));
    const { response, addon } = await drawers.control.changePlan(drawer.uuid, "small");
    const message = expect.stringMatching(/^Your drawer holds \d+ MB, and small has 10 MB\./);
    expect(response).toMatchObject({ status: 422, body: { message } });
    expect(addon.plan.name).toBe("drawers:large");
    expect(await roleOf(drawer)).toMatchObject({ limit: 20 });
  });

  it("that holds more than its plan has is named in the log by the nightly job", async () => {
    const drawer = await installed("large");
    await as(drawer.url(), FILL.replace("filled", `${drawer.role}.filled`));
    await drawers.world.forged.planIs("small", [drawer.uuid]);
    await drawers.world.forged.yourJobIsDueIn(0, "measure");
    const line = new RegExp(`"uuid":"${drawer.uuid}".*"room":10,.*A drawer holds more than its plan has`);
    await eventually(() => line.test(service.output()));
  });

  it("with a plan that takes longer is created later; after a plan change it is at the same address", async () => {
    const drawer = await installed("reserved");
    expect(drawer.response.status).toBe(202);
    await eventually(() => drawers.control.addon(drawer.uuid).state === "provisioned");
    expect(await roleOf(drawer)).toMatchObject({ limit: 50 });
    const url = drawer.url();
    expect((await drawers.control.changePlan(drawer.uuid, "large")).response.status).toBe(200);
    expect(await roleOf(drawer)).toMatchObject({ limit: 20 });
    expect(drawer.url()).toBe(url);
  });

  it("gets another address when its customer presses the button", async () => {
    const drawer = await installed("small");
    await drawers.world.quiet([drawer.uuid]);
    const before = drawer.url();
    expect(await pressed(url, drawers, drawer.uuid, "rotate")).toContain("gets another password now");
    await eventually(() => drawer.url() !== before);
  });

  it("gets another address every quarter of a year; the one before works for a while, and what is in it stays", async () => {
    const drawer = await installed("small");
    const urls = [drawer.url()];
    await as(urls[0]!, `CREATE TABLE notes AS SELECT 'mine' AS text`);
    for (const turn of [1, 2, 3]) {
      await drawers.world.quiet([drawer.uuid]);
      await drawers.world.pass({ days: 91 });
      await eventually(() => drawer.url() !== urls.at(-1));
      urls.push(drawer.url());
      expect(await as(drawer.url(), `SELECT text FROM notes`)).toEqual([{ text: "mine" }]);
      await as(drawer.url(), `CREATE TABLE turn_${turn} (n int)`);
      await as(urls.at(-2)!, `SELECT * FROM turn_${turn}`);
      // The end of the second one is given up: the third ends it too.
      if (turn === 2) {
        await eventually(async () => expect(await givenUp(drawer.uuid)).toHaveLength(1));
        continue;
      }
      await drawers.world.endOverlap(drawer.uuid);
      const refused = /is not permitted to log in|authentication failed|does not exist/;
      for (const url of urls.slice(0, -1)) await expect(as(url, `SELECT 1`)).rejects.toThrow(refused);
    }
    expect((await drawers.control.changePlan(drawer.uuid, "large")).response.status).toBe(200);
    expect(drawer.url()).toBe(urls.at(-1));
    expect(await as(drawer.url(), `SELECT 1 AS one`)).toEqual([{ one: 1 }]);
    await drawers.control.deprovision(drawer.uuid);
    // The clean-up begins once the lease of what ran meanwhile, of 30 seconds, is over.
    const roles = `SELECT FROM pg_roles WHERE starts_with(rolname, $1)`;
    await eventually(async () => expect(await drawers.rows(roles, [drawer.role])).toEqual([]));
  });

  it("is removed with all its content, also while somebody is connected", async () => {
    const drawer = await installed("small");
    const customer = new pg.Client({ connectionString: drawer.url() });
    customer.on("error", () => undefined);
    await customer.connect();
    await customer.query(`CREATE TABLE ${drawer.role}.notes (text text)`);
    expect((await drawers.control.deprovision(drawer.uuid)).response.status).toBe(204);
    await eventually(async () => expect(await roleOf(drawer)).toBeUndefined());
    expect(await schemas()).not.toContainEqual({ nspname: drawer.role });
    await customer.end().catch(() => undefined);
  });
});

/** Dies once the product's database has executed a statement with this text, before the result is known elsewhere. */
const diesAfter = (words: string) =>
  before(`
    import { createRequire } from "node:module";
    const { Pool } = createRequire(process.argv[1])("pg");
    const { query } = Pool.prototype;
    Pool.prototype.query = async function (text, ...rest) {
      const result = await query.call(this, text, ...rest);
      if (String(text).includes(${JSON.stringify(words)})) process.kill(process.pid, "SIGKILL");
      return result;
    };`);

describe("a process of the example product that is killed between two steps", () => {
  it("creates no second drawer when it is called again, and returns the same address", async () => {
    await drawers.killAll();
    const count = (await schemas()).length;
    const dying = await drawers.start("web", diesAfter("CREATE ROLE"));
    const drawer = await installed("small");
    expect(await dying.ended).toBe("SIGKILL");
    expect(await schemas()).toHaveLength(count + 1);
    // A sweep takes the work of a process that died a while ago.
    await drawers.world.pass({ minutes: 1 });
    await drawers.start();
    // If a sweep is working on it already, the answer is "later".
    expect((await drawers.control.redeliver(drawer.uuid)).response.status).toBeLessThan(300);
    await eventually(() => drawer.url() !== undefined);
    expect(await schemas()).toHaveLength(count + 1);
    expect(await as(drawer.url(), `SELECT 1 AS one`)).toEqual([{ one: 1 }]);
  });
});
