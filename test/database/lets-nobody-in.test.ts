import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { administer, testServerUrl } from "../support/database.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// PostgreSQL runs and rejects every login: while a password is changed, or a backup is restored.
const onPostgresql = testServerUrl ? describe : describe.skip;

const role = `addon_locked_${randomBytes(5).toString("hex")}`;
let world: World;
let name: string;
const onServer = (...texts: string[]) =>
  administer(testServerUrl!, async (ask) => {
    for (const text of texts) await ask(text);
  });
/** Ends all existing sessions. */
const throwOut = () =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN ('${name}', '${name}_away')`;

beforeAll(async () => {
  if (!testServerUrl) return;
  world = await aWorld({ environment: { SWEEP_CRON: "* * * * * *" } });
  const own = new URL(world.environment["DATABASE_URL"]!);
  name = own.pathname.slice(1);
  await onServer(`CREATE ROLE ${role} LOGIN`, `REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
  await onServer(`GRANT CONNECT ON DATABASE ${name} TO ${role}`);
  await world.rows(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
  await world.rows(`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
  own.username = role;
  await world.restart({ environment: { DATABASE_URL: own.href } });
});
let undo: string[] = [];
afterEach(() => onServer(...undo.splice(0)));
afterAll(async () => {
  if (!testServerUrl) return;
  await world.close();
  await onServer(`DROP ROLE ${role}`);
});

const TROUBLES: [string, () => string[], () => string[]][] = [
  ["lets the role in no more", () => [`ALTER ROLE ${role} NOLOGIN`], () => [`ALTER ROLE ${role} LOGIN`]],
  [
    "is called otherwise while another is put in its place",
    () => [
      `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
      throwOut(),
      `ALTER DATABASE ${name} RENAME TO ${name}_away`,
    ],
    () => [`ALTER DATABASE ${name}_away RENAME TO ${name}`, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`],
  ],
  [
    "takes no connections",
    () => [`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`],
    () => [`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`],
  ],
  [
    "may be connected to by its owner alone",
    () => [`REVOKE CONNECT ON DATABASE ${name} FROM ${role}`],
    () => [`GRANT CONNECT ON DATABASE ${name} TO ${role}`],
  ],
];

onPostgresql.each(TROUBLES)("a database that %s", (_, begin, end) => {
  it("for some seconds loses no provision, is logged once, and the jobs continue", async () => {
    const before = world.logged().length;
    undo = end();
    await onServer(...begin(), throwOut());
    const answers = Promise.all(
      Array.from({ length: 5 }, () => world.sandbox.control.install({ plan: "basic" })),
    );
    await sleep(3_000);
    expect((await fetch(`${world.service.url}/readyz`)).status).toBe(503);
    await onServer(...undo.splice(0));
    for (const { addon, response } of await answers) {
      expect(response.status).toBe(200);
      await eventually(async () => {
        const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [addon.id]);
        expect(row).toEqual({ state: "active" });
      });
    }
    const told = world
      .logged()
      .slice(before)
      .split("\n")
      .filter((line) => line.includes("refuses new connections"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("DATABASE_URL: the database says: ");
  }, 60_000);
});

onPostgresql("a database that rejects logins for longer", () => {
  it("makes provisions fail with 503 and Retry-After", async () => {
    undo = [`ALTER ROLE ${role} LOGIN`];
    await onServer(`ALTER ROLE ${role} NOLOGIN`, throwOut());
    const { response } = await world.sandbox.control.install({ plan: "basic" });
    expect(response).toMatchObject({ status: 503, headers: { "retry-after": expect.any(String) } });
    expect(response.ms).toBeGreaterThan(7_000);
  }, 30_000);
});
