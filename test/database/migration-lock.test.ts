import pg from "pg";
import { migrate } from "../../src/database/migrate.ts";
import { administer, databaseUrl, testServerUrl } from "../support/database.ts";
import { twoRoles } from "../support/database-roles.ts";
import { kit, kitJson } from "../support/kit.ts";
import { eventually } from "../support/world.ts";

// That of `prisma migrate`, and of all releases of the kit.
const LOCK = "SELECT pg_advisory_lock(72707369)";
const NAME = `addon_test_locked_${process.pid}`;
const url = databaseUrl(testServerUrl(), NAME);
const DATABASE_URL = url;

let holder: pg.Client;
let pid: number;
beforeEach(async () => {
  await administer(testServerUrl(), (ask) => ask(`CREATE DATABASE ${NAME} TEMPLATE template0`));
  holder = await holding(url);
});
afterEach(async () => {
  await holder.end();
  await administer(testServerUrl(), (ask) => ask(`DROP DATABASE ${NAME} WITH (FORCE)`));
});

async function holding(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address, application_name: "somebody" });
  client.on("error", () => undefined);
  await client.connect();
  await client.query(LOCK);
  pid = (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!.pid;
  return client;
}

const TIME = String.raw`\d{4}-\d\d-\d\d [\d:]+ UTC`;
const who = () =>
  `rocess ${pid} of the database \\(somebody, role \\w+, from 127\\.0\\.0\\.1, connected since ${TIME}, idle since ${TIME}\\)`;
const patience = { pollMs: 20 };

it("kit migrate that finds another one at work says who has the lock and how long it waits, and goes on after it", async () => {
  const said: string[] = [];
  const migrating = migrate({ url, yours: "none", patience, say: (sentence) => void said.push(sentence) });
  await eventually(() => expect(said).not.toEqual([]));
  expect(said).toEqual([
    expect.stringMatching(`^P${who()} has the lock of migrations\\. Waiting for it for at most 10 min\\.$`),
  ]);
  await holder.query("SELECT pg_advisory_unlock_all()");
  expect((await migrating).applied).not.toEqual([]);
  expect(said).toHaveLength(1);
});

it("kit migrate --wait gives up after that time with 1, and says how to end what holds the lock", async () => {
  const words = ["migrate", "--wait", "0.001"];
  const { code, data } = await kitJson({ DATABASE_URL }, words);
  expect({ code, data }).toEqual({
    code: 1,
    data: {
      id: "migration_locked",
      message: expect.stringMatching(
        `^Waited 0\\.06 s for the lock of migrations, which is held by p${who()}\\. .*SELECT pg_terminate_backend\\(${pid}\\)`,
      ),
    },
  });
  expect((await kit({ DATABASE_URL }, words)).stderr).toContain(`pg_terminate_backend(${pid})`);
  await administer(url, (ask) => ask(`SELECT pg_terminate_backend(${pid}, 5000)`));
  expect(await kitJson({ DATABASE_URL }, words)).toMatchObject({ code: 0 });
});

it.each(["soon", "-1", "", "1e9", "NaN"])("kit migrate --wait %p is used wrongly", async (minutes) => {
  expect(await kitJson({ DATABASE_URL }, ["migrate", `--wait=${minutes}`])).toMatchObject({ code: 2 });
});

it("a role that may not see who has the lock says so", async () => {
  const roles = twoRoles(testServerUrl());
  const asAdministrator = [
    "CREATE ROLE addon_owner LOGIN PASSWORD 'one'",
    "CREATE DATABASE addon OWNER addon_owner",
  ];
  await roles.ask("server", asAdministrator);
  const other = await holding(databaseUrl(testServerUrl(), new URL(roles.ownerUrl).pathname.slice(1)));
  const migrating = migrate({ url: roles.ownerUrl, patience: { ...patience, waitMs: 1 } });
  await expect(migrating).rejects.toMatchObject({
    id: "migration_locked",
    message: expect.stringMatching(
      `held by process ${pid} of the database \\(somebody, role \\w+, address and state not visible to this role: grant it pg_read_all_stats\\)`,
    ),
  });
  await other.end();
  await roles.close();
});
