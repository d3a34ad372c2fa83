import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Environment } from "../../src/environment.ts";
import { DELETED_FROM, migrate, OUR_TABLES } from "../../src/database/database.ts";
import { migrationNames } from "../../src/database/migrations-folder.ts";
import { kitJson } from "../kit/kit.ts";
import { aWorldOfPeople, type PeopleWorld } from "../sign-in/people.ts";
import { testServerUrl } from "../support/database.ts";
import { statementsOf, twoRoles } from "../support/database-roles.ts";
import { aServiceProcess } from "../support/process.ts";
import { eventually } from "../support/world.ts";

const onPostgresql = testServerUrl ? describe : describe.skip;
const [asAdministrator, asOwner, forOldTables, afterMigrating] = statementsOf("database.md") as [
  ...[string[], string[], string[], string[]],
];

onPostgresql("a service whose role cannot change the schema, set up as docs/database.md says", () => {
  const toClose: (() => Promise<unknown>)[] = [];
  let roles: ReturnType<typeof twoRoles>;
  let people: PeopleWorld;
  let settings: Environment;
  let applied: unknown;
  let uuid: string;

  beforeAll(async () => {
    roles = twoRoles(testServerUrl!);
    toClose.push(roles.close);
    await roles.ask("server", asAdministrator);
    await roles.ask("owner", asOwner);
    const addresses = { DATABASE_URL: roles.serviceUrl, MIGRATION_DATABASE_URL: roles.ownerUrl };
    applied = await kitJson(addresses, ["migrate"]);
    await roles.ask("owner", afterMigrating);
    const environment = { DATABASE_URL: roles.serviceUrl, SWEEP_CRON: "* * * * * *" };
    people = await aWorldOfPeople({ environment });
    toClose.push(people.close);
    settings = people.world.environment;
  }, 60_000);
  afterAll(async () => {
    for (const close of toClose.reverse()) await close();
  });

  const look = async <Row>(text: string) => (await roles.ask("administrator", [text])) as Row[];
  const isSettled = () =>
    eventually(async () =>
      expect(
        await look(
          `SELECT r.state, c.state AS credential FROM resources r JOIN credentials c USING (uuid)
           WHERE uuid = '${uuid}' AND NOT EXISTS (SELECT 1 FROM steps s WHERE s.uuid = r.uuid)`,
        ),
      ).toEqual([{ state: "provisioned", credential: "active" }]),
    );
  const readiness = async () => {
    const response = await fetch(`${people.url()}/readyz`);
    return `${response.status} ${((await response.json()) as { status: string }).status}`;
  };
  /** The output of a command, which must have succeeded. */
  const kit = async (words: string[], input?: string) => {
    const { code, data } = await kitJson(settings, words, input);
    expect({ words, code, data }).toEqual({ words, code: 0, data });
    return data;
  };

  it("is migrated by kit migrate, with the owner's role", async () => {
    const { host, pathname } = new URL(roles.ownerUrl);
    const database = `database ${pathname.slice(1)} at ${host}`;
    expect(applied).toEqual({ code: 0, data: { applied: await migrationNames(), database } });
    const owners = await look(`SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'`);
    expect(owners).toEqual([{ tableowner: new URL(roles.ownerUrl).username }]);
    expect((await look(`SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = current_database()
      AND application_name = 'addon-service'`))).toEqual([{ usename: new URL(roles.serviceUrl).username }]); // prettier-ignore
  });

  it("provisions, at once and later, exchanges and refreshes", async () => {
    for (const plan of ["dedicated", "basic"]) {
      const { addon, response } = await people.control.install({ plan });
      expect(response.status).toBe(plan === "basic" ? 200 : 202);
      uuid = addon.id;
      await isSettled();
    }
    expect(await kit(["tokens", "refresh", uuid])).toMatchObject({ done: [uuid] });
  });

  it("changes the plan, sets config vars, and imports", async () => {
    expect((await people.control.changePlan(uuid, "premium")).response.status).toBe(200);
    await isSettled();
    await kit(["config", "set", uuid, "TEAPOT_URL=https://other.example"]);
    const before = { uuid: "01234567-89ab-4def-8123-456789abcdef", plan: "basic" };
    expect(await kit(["resources", "import"], JSON.stringify(before))).toMatchObject({ imported: 1 });
    await kit(["resources", "erase", before.uuid, "--yes"]);
  });

  it("sets a new client secret, for which it locks a table", async () => {
    const { secret } = people.control.resetClientSecret();
    expect(await kit(["secret", "set"], secret)).toMatchObject({ version: 2 });
  });

  it("signs people in and out", async () => {
    const browser = people.browser();
    expect(await people.signIn(browser)).toMatchObject({ status: 303, location: "/oauth/me" });
    expect((await browser.get("/oauth/me")).text).toContain("owner@example.com");
    expect((await browser.post("/oauth/logout", { origin: people.url() })).status).toBe(303);
    expect(await people.signIn(people.browser())).toMatchObject({ status: 303 });
  });

  it("re-encrypts everything with another key", async () => {
    const change = {
      ENCRYPTION_KEY: randomBytes(24).toString("hex"),
      DECRYPTION_KEYS: settings["ENCRYPTION_KEY"]!,
    };
    Object.assign(settings, change);
    await people.world.restart({ environment: settings });
    expect(await kit(["keys", "reseal"])).toMatchObject({ byKey: [expect.anything()] });
    const { checks } = (await kit(["doctor"])) as { checks: { id: string; ok: boolean }[] };
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  it("deprovisions", async () => {
    expect((await people.control.deprovision(uuid)).response.status).toBe(204);
    await eventually(async () => expect(await look(`SELECT 1 FROM steps`)).toEqual([]));
  });

  it("runs every job without a permission error", async () => {
    const jobs = await look<{ name: string }>(`SELECT name FROM heartbeats ORDER BY name`);
    expect(jobs.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "exchange-grants",
        "find-late-steps",
        "prune-sign-ins",
        "refresh-people",
        "refresh-tokens",
        "run-steps",
        "run-vendor-steps",
      ]),
    );
    expect(people.world.logged()).not.toMatch(/permission denied|must be owner|"42501"/);
  });

  it.each([
    ["INSERT ON credentials", "INSERT on credentials"],
    ["UPDATE, INSERT ON credentials, events", "INSERT, UPDATE on credentials, events"],
    ["USAGE ON SEQUENCE steps_id_seq, events_id_seq", "USAGE on sequence events_id_seq, steps_id_seq"],
    ["SELECT ON _prisma_migrations", "SELECT on _prisma_migrations"],
    ["USAGE ON SCHEMA public", "USAGE on schema public"],
  ])("fails kit doctor without %s, which says how to grant it", async (right, lacked) => {
    const look = async () => {
      const { data } = await kitJson<{ checks: { id: string; ok: boolean; message: string; fix: string }[] }>(
        settings,
        ["doctor"],
      );
      return data.checks.find(({ id }) => id === "rights")!;
    };
    await roles.ask("owner", [`REVOKE ${right} FROM addon_service`]);
    const { ok, message, fix } = await look();
    const [owner, service] = [roles.ownerUrl, roles.serviceUrl].map((url) => new URL(url).username);
    expect({ ok, message }).toEqual({ ok: false, message: `The role ${service} lacks ${lacked}.` });
    const grants = /^As (\S+): (GRANT [^]*;)/.exec(fix)!;
    expect(grants[1]).toBe(owner);
    await roles.ask("owner", grants[2]!.split(";").filter(Boolean));
    expect((await look()).ok).toBe(true);
  });

  it("raises an alarm at its start without a right, and is degraded until it is granted", async () => {
    const since = people.world.logged().length;
    await people.world.restart();
    expect(await readiness()).toBe("200 ready");
    await roles.ask("owner", [`REVOKE INSERT ON operator_actions FROM addon_service`]);
    await people.world.restart();
    expect(await readiness()).toBe("200 degraded");
    const alarms = people.world
      .logged()
      .slice(since)
      .match(/.*"alarm":"rights_missing".*/g)!;
    expect(alarms).toHaveLength(1);
    const { owner, grants, msg } = JSON.parse(alarms[0]!) as Record<string, string>;
    const [ownerRole, serviceRole] = [roles.ownerUrl, roles.serviceUrl].map((url) => new URL(url).username);
    expect({ owner, msg }).toEqual({
      owner: ownerRole,
      msg: `The role ${serviceRole} lacks INSERT on operator_actions.`,
    });
    expect((await people.control.install({ plan: "basic" })).response.status).toBe(200);
    await roles.ask("owner", [grants!]);
    expect(await readiness()).toBe("200 ready");
  });

  it("is unavailable while every provision fails for lack of a right", async () => {
    await roles.ask("owner", [`REVOKE USAGE ON SEQUENCE steps_id_seq FROM addon_service`]);
    await people.world.restart();
    expect((await people.control.install({ plan: "basic" })).response.status).toBe(500);
    expect(await readiness()).toBe("503 unavailable");
    // UPDATE is enough to take the next number.
    await roles.ask("owner", [`GRANT UPDATE ON SEQUENCE steps_id_seq TO addon_service`]);
    expect(await readiness()).toBe("200 ready");
    expect((await people.control.install({ plan: "basic" })).response.status).toBe(200);
    await roles.ask("owner", [
      `GRANT USAGE ON SEQUENCE steps_id_seq TO addon_service`,
      `REVOKE UPDATE ON SEQUENCE steps_id_seq FROM addon_service`,
    ]);
  });

  it("says which rights are missing before another check fails for lack of them", async () => {
    await roles.ask("owner", [`REVOKE SELECT ON _prisma_migrations, client_secrets FROM addon_service`]);
    try {
      await expect(aServiceProcess("worker", settings)).rejects.toThrow(
        /ended with 78 [^]*lacks SELECT on _prisma_migrations, client_secrets\./,
      );
    } finally {
      await roles.ask("owner", [`GRANT SELECT ON _prisma_migrations, client_secrets TO addon_service`]);
    }
  });

  it("needs DELETE only on the tables from which the code deletes", async () => {
    const src = new URL("../../src/", import.meta.url);
    const names = (await readdir(src, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
    const code = (await Promise.all(names.map((name) => readFile(new URL(name, src), "utf8")))).join("\n");
    const deletedFrom = new Set([...code.matchAll(/DELETE FROM (\w+)/g)].map(([, table]) => table!));
    expect([...DELETED_FROM].sort()).toEqual([...deletedFrom].sort());
    await roles.ask("owner", [`REVOKE DELETE ON operator_actions FROM addon_service`]);
    const { data } = await kitJson<{ checks: { id: string; ok: boolean }[] }>(settings, ["doctor"]);
    await roles.ask("owner", [`GRANT DELETE ON operator_actions TO addon_service`]);
    expect(data.checks).toContainEqual(expect.objectContaining({ id: "rights", ok: true }));
  });

  it("has its rights checked on all tables of the kit, and on no others", async () => {
    const schema = await readFile(new URL("../../prisma/schema.prisma", import.meta.url), "utf8");
    const mapped = [...schema.matchAll(/@@map\("(\w+)"\)/g)].map(([, name]) => name!);
    expect([...OUR_TABLES].sort()).toEqual([...mapped, "_prisma_migrations"].sort());
    await roles.ask("owner", [
      `CREATE TABLE journal (id bigserial)`,
      `REVOKE UPDATE, DELETE ON journal FROM addon_service`,
    ]);
    const { data } = await kitJson<{ checks: { id: string; ok: boolean }[] }>(settings, ["doctor"]);
    await roles.ask("owner", [`DROP TABLE journal`]);
    expect(data.checks).toContainEqual(expect.objectContaining({ id: "rights", ok: true }));
  });

  it.each([
    "CREATE TABLE mine (x int)",
    "CREATE TEMPORARY TABLE mine (x int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE INDEX ON resources (plan)",
    "CREATE TRIGGER mine BEFORE UPDATE ON resources EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "ALTER TABLE resources ADD COLUMN mine int",
    "ALTER TABLE credentials OWNER TO addon_service",
    "DROP TABLE events",
    "TRUNCATE events",
    "ALTER SEQUENCE steps_id_seq RESTART",
    "SELECT setval('client_secrets_version_seq', 1)",
    "DELETE FROM _prisma_migrations",
    "UPDATE _prisma_migrations SET finished_at = NULL",
    "SET ROLE addon_owner",
    "CREATE ROLE mine",
  ])("is not allowed to run: %s", async (text) => {
    await expect(roles.ask("service", [text])).rejects.toMatchObject({ code: "42501" });
  });

  it("uses what the next migration creates without a new grant", async () => {
    await roles.ask("owner", [`CREATE TABLE next (id bigserial PRIMARY KEY, what text)`]);
    const rows = await roles.ask("service", [
      `INSERT INTO next (what) VALUES ('a'), ('b')`,
      `UPDATE next SET what = 'c' WHERE id = 1`,
      `DELETE FROM next WHERE id = 2`,
      `SELECT id, what FROM next`,
    ]);
    expect(rows).toEqual([{ id: "1", what: "c" }]);
    await roles.ask("owner", [`DROP TABLE next`]);
  });
});

onPostgresql("a database that was migrated before it had two roles", () => {
  let roles: ReturnType<typeof twoRoles>;
  beforeAll(() => void (roles = twoRoles(testServerUrl!)));
  afterAll(() => roles.close());

  it("serves only after the grants for its existing tables", async () => {
    await roles.ask("server", asAdministrator);
    await migrate({ url: roles.ownerUrl });
    await roles.ask("owner", asOwner);
    const use = [
      `BEGIN`,
      `LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`,
      `SELECT nextval('client_secrets_version_seq')::int AS version`,
    ];
    await expect(roles.ask("service", use)).rejects.toMatchObject({ code: "42501" });
    await roles.ask("owner", forOldTables);
    expect(await roles.ask("service", use)).toEqual([{ version: 1 }]);
  }, 60_000);
});

it("docs/database.md has the four blocks of SQL that these tests run", () => {
  expect(statementsOf("database.md").map(({ length }) => length)).toEqual([5, 4, 2, 1]);
});
