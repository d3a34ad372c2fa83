import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { migrate } from "../../src/database/migrate.ts";
import type { Environment } from "../../src/environment.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { hiddenIn } from "../people/browser.ts";
import { aWorldOfPeople, type PeopleWorld } from "../people/people.ts";
import { databaseUrl, testServerUrl } from "../support/database.ts";
import { statementsOf, twoRoles } from "../support/database-roles.ts";
import { kitJson } from "../support/kit.ts";
import { basic as basicOf } from "../support/partner-calls.ts";
import { eventually } from "../support/world.ts";

const SALT = "the-salt-of-sign-on-of-tests";
const PASSWORD = "a-password-of-the-operator";

/** The rights in the table of docs/database.md. */
function rightsOfThePage() {
  const ALL = "SELECT INSERT UPDATE DELETE";
  const lines = [...readFileSync("docs/database.md", "utf8").matchAll(/^\| (`[^|]*) \| ([^|]*) \|/gm)];
  const words = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, word]) => word!);
  return Object.fromEntries(
    lines.flatMap(([, tables, needed]) => {
      const named = words(needed!);
      const columns = named.filter((word) => /[a-z]/.test(word)).sort();
      const some = ALL.split(" ").filter(
        (right) => named.includes(right) && !(right === "UPDATE" && columns.length > 0),
      );
      const rights = needed === "all four" ? ALL : some.join(" ");
      return words(tables!).map((table) => [table, { rights, columns: columns.length > 0 ? columns : null }]);
    }),
  );
}

const blocks = statementsOf("database.md");
const [asAdministrator, forPublic, forOldTables, afterMigrating] = blocks as [
  ...[string[], string[], string[], string[]],
];
const forYours = forPublic.map((text) => text.replaceAll("SCHEMA public", "SCHEMA yours"));
const asOwner = [...forPublic, "CREATE SCHEMA yours", ...forYours];
it("docs/database.md has the four blocks of SQL that these tests run", () => {
  expect(blocks.map(({ length }) => length)).toEqual([5, 4, 2, 10]);
});

describe("a service whose role cannot change the schema, set up as docs/database.md says,", () => {
  const roles = twoRoles(testServerUrl());
  let people: PeopleWorld | undefined;
  beforeAll(async () => {
    await roles.ask("server", asAdministrator);
    await roles.ask("owner", asOwner);
    const addresses = { DATABASE_URL: roles.serviceUrl, MIGRATION_DATABASE_URL: roles.ownerUrl };
    const wrong: [string, string][] = [
      [databaseUrl(testServerUrl(), "no_such"), "MIGRATION_DATABASE_URL: the database answers"],
      [`${roles.ownerUrl}?sslrootcert=/no/such/file`, "MIGRATION_DATABASE_URL, or a file that it names,"],
    ];
    for (const [url, message] of wrong)
      expect(await kitJson({ ...addresses, MIGRATION_DATABASE_URL: url }, ["migrate"])).toMatchObject({
        ...{ code: 78, data: { message: expect.stringContaining(message) } },
      });
    expect(await kitJson(addresses, ["migrate"])).toMatchObject({ code: 0 });
    await roles.ask("owner", afterMigrating);
    people = await aWorldOfPeople({
      sandbox: { ssoSalt: SALT },
      environment: {
        ...{ DATABASE_URL: roles.serviceUrl, SWEEP_CRON: "* * * * * *" },
        ...{ SSO_SALT: SALT, OPERATOR_PASSWORD: PASSWORD },
      },
    });
  });
  afterAll(async () => {
    await people?.close();
    await roles.close();
  });

  const look = (text: string) => roles.ask("administrator", [text]);
  it("has the rights that the page lists for each table, and no others", async () => {
    const found = await look(
      `SELECT relname AS name, coalesce((SELECT string_agg(name, ' ' ORDER BY at) FROM
           unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) WITH ORDINALITY AS r (name, at)
           WHERE has_table_privilege('addon_service', c.oid, name)), '') AS rights,
         (SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute a
           WHERE attrelid = c.oid AND attnum > 0 AND NOT has_table_privilege('addon_service', c.oid, 'UPDATE')
             AND has_column_privilege('addon_service', c.oid, attnum, 'UPDATE')) AS columns
       FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    const byTable = Object.fromEntries(found.map(({ name, rights, columns }) => [name, { rights, columns }]));
    expect(byTable).toEqual(rightsOfThePage());
  });

  it("lives the whole life of a resource, of people, of a client secret and of a key", async () => {
    const { control, world } = people!;
    const settings: Environment = world.environment;
    const kit = async (words: string[], input?: string) => {
      const { code, data } = await kitJson(settings, words, input);
      expect({ words, code, data }).toEqual({ words, code: 0, data });
    };
    const settled = () =>
      eventually(async () => {
        const left = `SELECT state FROM credentials WHERE state NOT IN ('active', 'erased', 'signed_in') OR due_at <= now()
          UNION ALL SELECT kind FROM steps`;
        expect(await look(left)).toEqual([]);
      });
    const installs = ["basic", "dedicated"].map((plan) => control.install({ plan }));
    const [basic, later] = await Promise.all(installs);
    expect([basic!.response.status, later!.response.status]).toEqual([200, 202]);
    await settled();
    expect((await control.changePlan(basic!.addon.id, "premium")).response.status).toBe(200);
    await look(`UPDATE credentials SET due_at = now()`);
    world.service.services.jobs.wake("refresh-tokens");

    const browser = people!.browser();
    expect(await people!.signIn(browser)).toMatchObject({ status: 303, location: "/oauth/me" });
    expect((await browser.post("/oauth/logout", { origin: people!.url() })).status).toBe(303);

    const customer = people!.browser();
    const { form } = control.signOnForm(basic!.addon.id);
    expect((await customer.post("/sso/login", {}, new URLSearchParams(form))).status).toBe(303);
    const here = `/customer/${basic!.addon.id}`;
    expect((await customer.get(here)).status).toBe(200);
    expect((await customer.post(`${here}/sign-out`, { origin: people!.url() })).status).toBe(303);
    await look(`UPDATE sessions SET seen_at = now() - interval '6 minutes'`);

    const operator = people!.browser({ authorization: basicOf("operator", PASSWORD) });
    const question = await operator.get("/operator/refresh-all");
    const asked = new URLSearchParams(hiddenIn(question.text));
    expect((await operator.post("/operator/refresh-all", { origin: people!.url() }, asked)).status).toBe(303);
    expect((await operator.get("/metrics")).status).toBe(200);
    const ended = `SELECT action FROM operator_actions WHERE state = 'done' AND action = 'refresh-all'`;
    await eventually(async () => expect(await look(ended)).toHaveLength(1));

    const old = "01234567-89ab-4def-8123-456789abcdef";
    await kit(["resources", "import"], JSON.stringify({ uuid: old, plan: "basic" }));
    // It locks a table.
    await kit(["secret", "set"], control.resetClientSecret().secret);
    await kit(["resources", "erase", old, "--yes"]);
    expect(await look(`SELECT DISTINCT detail FROM events WHERE uuid = '${old}'`)).toEqual([{ detail: {} }]);
    const key = {
      ENCRYPTION_KEY: randomBytes(24).toString("hex"),
      DECRYPTION_KEYS: settings["ENCRYPTION_KEY"]!,
    };
    Object.assign(settings, key);
    await world.restart({ environment: settings });
    await kit(["keys", "reseal"]);
    await settled();
    expect(
      await look(`SELECT bool_and(generation > 1) AS refreshed FROM credentials WHERE state = 'active'`),
    ).toEqual([{ refreshed: true }]);
    expect((await control.deprovision(later!.addon.id)).response.status).toBe(204);
    expect(world.logged()).not.toMatch(/permission denied|must be owner|"42501"/);
  });

  it.each([
    ...[
      "DELETE FROM operator_actions",
      "UPDATE operator_actions SET operator = 'x'",
      "TRUNCATE operator_actions",
    ],
    ...["UPDATE operator_actions SET started_at = now()", "UPDATE operator_actions SET message = 'x'"],
    ...["DELETE FROM events", "UPDATE events SET type = 'x'", "UPDATE events SET at = now()"],
    ...['UPDATE events SET detail = \'{"by": "x"}\'', "UPDATE events SET uuid = gen_random_uuid()"],
    ...[
      "DELETE FROM resources",
      "UPDATE sessions SET person = gen_random_uuid()",
      "UPDATE sessions SET proof = 'x'",
    ],
    ...[
      "UPDATE customer_sessions SET uuid = gen_random_uuid()",
      "UPDATE used_sign_ons SET expires_at = now()",
    ],
    ...[
      "INSERT INTO _prisma_migrations (id) VALUES ('x')",
      "DELETE FROM your_jobs",
      "ALTER TABLE events DISABLE TRIGGER ALL",
    ],
    ...["CREATE TABLE mine (x int)", "CREATE TEMPORARY TABLE mine (x int)", "DROP TABLE events"],
    ...["ALTER TABLE resources ADD COLUMN mine int", "TRUNCATE events", "DELETE FROM _prisma_migrations"],
    ...["SELECT setval('client_secrets_version_seq', 1)", "SET ROLE addon_owner", "CREATE ROLE mine"],
  ])("may not run: %s", async (text) => {
    await expect(roles.ask("service", [text])).rejects.toMatchObject({ code: "42501" });
  });

  it("is warned of by kit doctor while it has more rights than that", async () => {
    const found = async () => {
      const { data } = await kitJson<DoctorReport>(people!.world.environment, ["doctor"]);
      return data.checks.find(({ id }) => id === "migrations")!;
    };
    expect(await found()).toMatchObject({ ok: true, message: "The schema is up to date.", fix: null });
    await roles.ask("owner", ["GRANT DELETE ON operator_actions TO addon_service"]);
    const fix = "Run ops/database-rights.sql as the owner of the tables (docs/database.md).";
    expect(await found()).toMatchObject({
      ok: true,
      message: expect.stringContaining("delete the audit trail"),
      fix,
    });
    await roles.ask("owner", afterMigrating);
  });

  it.each([
    "UPDATE operator_actions SET message = 'x' WHERE state <> 'running'",
    "UPDATE operator_actions SET state = 'running' WHERE state <> 'running'",
    'UPDATE events SET detail = \'{"by": "x"}\'',
    "UPDATE events SET type = 'x', detail = detail || '{\"by\": \"x\"}'",
  ])("nor may the owner, by a slip: %s", async (text) => {
    await expect(roles.ask("owner", [text])).rejects.toMatchObject({ code: "42501" });
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

it("a database that was migrated before it had two roles serves only after the grants for its existing tables", async () => {
  const roles = twoRoles(testServerUrl());
  await roles.ask("server", asAdministrator);
  await migrate({ url: roles.ownerUrl, yours: "no-such-folder" });
  await roles.ask("owner", asOwner);
  const use = [
    `BEGIN`,
    `LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`,
    `SELECT nextval('client_secrets_version_seq')::int AS version`,
  ];
  await expect(roles.ask("service", use)).rejects.toMatchObject({ code: "42501" });
  await roles.ask("owner", forOldTables);
  expect(await roles.ask("service", use)).toEqual([{ version: 1 }]);
  await roles.close();
});

it("tables of a service's own need no right to make schemas once theirs is there, and the service's role uses them", async () => {
  const roles = twoRoles(testServerUrl());
  await roles.ask("server", asAdministrator);
  await roles.ask("owner", asOwner);
  await migrate({ url: roles.ownerUrl });
  // From now on the owner of the tables owns the database no more, and may make no schema.
  await roles.ask("administrator", [
    `ALTER DATABASE addon OWNER TO CURRENT_USER`,
    `GRANT CONNECT ON DATABASE addon TO addon_owner`,
    `GRANT USAGE ON SCHEMA public TO addon_owner`,
  ]);
  const yours = "examples/message-queue/your-service/migrations";
  expect(await migrate({ url: roles.ownerUrl, yours })).toMatchObject({
    applied: [expect.stringContaining("usage"), expect.stringContaining("plan_of_a_day")],
  });
  expect(await roles.ask("service", [`SELECT * FROM yours.usage`])).toEqual([]);
  await expect(roles.ask("service", [`DROP TABLE yours.usage`])).rejects.toMatchObject({ code: "42501" });
  await roles.close();
});
