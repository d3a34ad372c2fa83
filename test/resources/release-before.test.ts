import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import pg from "pg";
import { aFreshDatabase, type FreshDatabase } from "../support/database.ts";
import { eventually } from "../support/world.ts";

// Provisions of the release before, which wrote a provision's step only once that outlasted its request: as the migration
// finds them, and as processes of that release go on beside this one. The statements are that release's own.

const MIGRATION = "prisma/migrations/20261129002000_each_provision_has_its_step/migration.sql";

const INSERT = `WITH made AS (
    INSERT INTO resources (uuid, plan, applied_plan, state, answer_status) VALUES ($1, 'basic', 'basic', 'provisioning', $2)
    ON CONFLICT (uuid) DO NOTHING RETURNING uuid
  ), credential AS (
    INSERT INTO credentials (uuid, state, sealed_grant_code, grant_number, request_id) SELECT uuid, 'grant_pending', '\\x00', 1, 'a-request' FROM made
  )
  INSERT INTO steps (uuid, key, kind, attempts, lease, request_id) SELECT uuid, uuid, 'finish', 0, 1, 'a-request' FROM made WHERE $2 = 202`;
const ANSWER = `WITH answered AS (
    UPDATE resources r SET state = $2, answer_status = $3 WHERE r.uuid = $1 AND r.state IN ('provisioning') AND r.answer_status IS NULL
    RETURNING r.uuid, $4::text AS step_next, r.created_at
  ), ended AS (
    DELETE FROM steps s USING answered a WHERE s.uuid = a.uuid AND s.kind = 'provision' AND a.step_next IS NULL
  ), turned AS (
    UPDATE steps s SET kind = a.step_next, lease = s.lease + 1, attempts = 0, last_error = NULL,
      due_at = CASE WHEN a.step_next = 'clean_up' THEN now() END, leased_until = CASE WHEN s.lease <> 1 THEN s.leased_until END
    FROM answered a WHERE s.uuid = a.uuid AND s.kind = 'provision' AND a.step_next IN ('finish', 'clean_up')
  ), written AS (
    INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, request_id, traceparent)
    SELECT a.uuid, a.uuid, a.step_next, CASE WHEN a.step_next <> 'finish' THEN now() END,
      CASE WHEN a.step_next = 'provision' THEN 1 ELSE 0 END, 1,
      CASE WHEN a.step_next = 'provision' THEN greatest(a.created_at + interval '30 seconds', now() + interval '5 seconds') END,
      c.request_id, c.traceparent
    FROM answered a JOIN credentials c USING (uuid) WHERE a.step_next IS NOT NULL
      AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = a.uuid AND s.kind = 'provision')
  )
  SELECT uuid FROM answered`;
const LOCK = `SELECT 1 FROM resources WHERE uuid = ANY($1::uuid[]) ORDER BY uuid FOR UPDATE`;

/** State, answer, and what became of the step: of a done, a late, a put-off and a refused provision. */
const ANSWERS = [
  ["provisioned", 200, null, []],
  ["provisioning", 202, "provision", ["provision"]],
  ["provisioning", 202, "finish", ["finish"]],
  ["failed", 422, "clean_up", ["clean_up"]],
] as const;

let fresh: FreshDatabase;
let [old, migrating]: pg.Client[] = [];
let migration: string;
beforeAll(async () => {
  fresh = await aFreshDatabase();
  [old, migrating] = [0, 1].map(() => new pg.Client(fresh.settings.url));
  await Promise.all([old!.connect(), migrating!.connect()]);
  migration = await readFile(MIGRATION, "utf8");
});
afterAll(async () => {
  await Promise.all([old!.end(), migrating!.end()]);
  await fresh.close();
});

let uuid: string;
beforeEach(() => void (uuid = randomUUID()));

// Prepared statements, as the service's are.
const ask = async (name: string, text: string, values: unknown[]) =>
  (await old!.query({ name, text, values })).rows as unknown[];
const insert = (status: number | null = null) => ask("provision", INSERT, [uuid, status]);
async function answer(state: string, status: number, next: string | null): Promise<void> {
  // As that release does: where a step follows, the resource is locked first.
  if (next) await old!.query("BEGIN");
  if (next) await ask("lock_resources", LOCK, [[uuid]]);
  expect(await ask("answer_provisions", ANSWER, [uuid, state, status, next])).toHaveLength(1);
  if (next) await old!.query("COMMIT");
}
const steps = () =>
  ask("steps", `SELECT kind FROM steps WHERE uuid = $1 ORDER BY id`, [uuid]).then((rows) =>
    rows.map((row) => (row as { kind: string }).kind),
  );
const unmigrate = () =>
  migrating!.query(
    `DROP TRIGGER write_step_of_provision ON resources; DROP FUNCTION write_step_of_provision()`,
  );

it.each(ANSWERS)(
  "a provision that it stores and answers with %s, %d, %s",
  async (state, status, next, left) => {
    await insert();
    expect(await steps()).toEqual(["provision"]);
    await answer(state, status, next);
    expect(await steps()).toEqual(left);
  },
);

it("a provision that it puts off from the first has that step alone", async () => {
  await insert(202);
  expect(await steps()).toEqual(["finish"]);
});

describe("when the database is migrated", () => {
  beforeEach(unmigrate);

  it.each([
    ["a provision whose process may still be at work", "1 second", 20, 30],
    ["a provision whose process was killed long ago", "1 hour", 4, 6],
  ])("%s gets its step, which waits for that process", async (_what, age, least, most) => {
    await insert();
    await ask("", `UPDATE resources SET created_at = now() - $2::interval WHERE uuid = $1`, [uuid, age]);
    expect(await steps()).toEqual([]);
    // In one transaction, so that the time of both is the same.
    await migrating!.query("BEGIN");
    await migrating!.query(migration);
    const { rows } = await migrating!.query<{ seconds: number }>(
      `SELECT key, kind, attempts, lease, request_id, extract(epoch FROM leased_until - now())::float8 AS seconds,
         s.created_at = r.created_at AS "isAsOld" FROM steps s JOIN resources r USING (uuid) WHERE uuid = $1`,
      [uuid],
    );
    await migrating!.query("COMMIT");
    const [found, ...others] = rows;
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      key: uuid,
      kind: "provision",
      attempts: 1,
      lease: 1,
      request_id: "a-request",
      isAsOld: true,
    });
    expect(found!.seconds).toBeGreaterThan(least);
    expect(found!.seconds).toBeLessThan(most);
  });

  it("a provision that outlasted its request, with a plan change behind it, keeps what it has", async () => {
    await insert();
    await ask("", `INSERT INTO steps (uuid, kind) VALUES ($1, 'provision'), ($1, 'change_plan')`, [uuid]);
    await migrating!.query(migration);
    expect(await steps()).toEqual(["provision", "change_plan"]);
  });

  it.each(ANSWERS)(
    "a provision that was answered with %s, %d, %s keeps what it has",
    async (state, status, next, left) => {
      await insert();
      await answer(state, status, next);
      await migrating!.query(migration);
      expect(await steps()).toEqual(left);
    },
  );

  it.each(ANSWERS)(
    "an answer with %s, %d, %s that comes during the migration sees its step",
    async (state, status, next, left) => {
      await insert();
      await migrating!.query("BEGIN");
      await migrating!.query(migration);
      const answered = answer(state, status, next);
      await untilOneWaits();
      await migrating!.query("COMMIT");
      await answered;
      expect(await steps()).toEqual(left);
    },
  );

  it.each(ANSWERS)(
    "an answer with %s, %d, %s for which the migration waits is seen by it",
    async (state, status, next, left) => {
      await insert();
      await old!.query("BEGIN");
      await ask("answer_provisions", ANSWER, [uuid, state, status, next]);
      const migrated = migrating!.query(migration);
      await untilOneWaits();
      await old!.query("COMMIT");
      await migrated;
      expect(await steps()).toEqual(left);
    },
  );
});

/** Until one of the two connections waits for a lock of the other. */
async function untilOneWaits(): Promise<void> {
  const looking = new pg.Client(fresh.settings.url);
  await looking.connect();
  const waits = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await eventually(async () => expect((await looking.query(waits)).rowCount).toBe(1)).finally(() =>
    looking.end(),
  );
}
