import { kit, kitJson } from "../../support/kit.ts";
import { aWorld, opened } from "../../support/world.ts";

// A database that answers, and takes too long for it. The limit is short here: it is 3 s.

const LIMIT = "statement_timeout=1000";
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));

// PostgreSQL may skip the nap where there is no row.
beforeAll(async () => {
  await kit(world.environment, ["tokens", "refresh", "--all"]);
  await world.rows(
    `INSERT INTO lost_sales (uuid, plan, request_id, at, reason) VALUES (gen_random_uuid(), 'basic', '', now(), 'full')`,
  );
});

const environment = () => {
  const { DATABASE_URL: url = "", ...others } = world.environment;
  return { ...others, DATABASE_URL: `${url}${url.includes("?") ? "&" : "?"}${LIMIT}` };
};

/** The next statements that read this table hang, so many of them. */
async function slow(table: string, times: number): Promise<void> {
  await world.rows(`ALTER TABLE ${table} RENAME TO fast`);
  await world.rows(`CREATE SEQUENCE naps`);
  await world.rows(`CREATE VIEW ${table} AS SELECT fast.* FROM
    (SELECT CASE WHEN nextval('naps') <= ${times} THEN pg_sleep(600) END) nap, fast`);
}
async function asBefore(table: string): Promise<void> {
  await world.rows(`DROP VIEW ${table}`);
  await world.rows(`DROP SEQUENCE naps`);
  await world.rows(`ALTER TABLE fast RENAME TO ${table}`);
}

describe.each([
  ["lost", "lost_sales", "list_lost_sales"],
  ["audit", "operator_actions", "OperatorAction.findMany"],
])("kit %s", (command, table, statement) => {
  afterEach(() => asBefore(table));

  it("tries a statement once more that took too long", async () => {
    await slow(table, 1);
    expect(await kitJson(environment(), [command])).toMatchObject({ code: 0 });
  });

  it("then says that the database is slow, and which statement is", async () => {
    await slow(table, 2);
    const { code, stdout, stderr } = await kit(environment(), [command]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      new RegExp(`^✗ The database is slow: ${statement} took longer than [1-9][\\d.]* s\\.`),
    );
    const after = await kitJson(environment(), [command]);
    expect(after).toMatchObject({ code: 0 });
  });

  it("names that apart from a database that does not answer", async () => {
    await slow(table, 2);
    expect(await kitJson(environment(), [command])).toMatchObject({ code: 1, data: { id: "database_slow" } });
  });
});
