// An index that somebody creates by hand with CONCURRENTLY, and that is interrupted. Only PostgreSQL has concurrent
// sessions.

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { openDatabase } from "../../src/database/database.ts";
import { migrations as look } from "../../src/operator/doctor/database-checks.ts";
import type { Services } from "../../src/services.ts";
import { kit, kitJson } from "../kit/kit.ts";
import { aFreshDatabase, testServerUrl, type FreshDatabase } from "../support/database.ts";

const MIGRATION = "20260407000000_attention_by_uuid";
const NEW_INDEX = `"credentials_state_new" ON "credentials"("state", "uuid")
  WHERE ("state" = ANY (ARRAY['grant_lost'::text, 'needs_reauth'::text, 'no_grant'::text, 'quarantined'::text]))`;

(testServerUrl ? describe : describe.skip)("an invalid index on one of our tables", () => {
  let fresh: FreshDatabase;
  let client: pg.Client;
  let other: pg.Client;
  beforeEach(async () => {
    fresh = await aFreshDatabase();
    const address = { connectionString: fresh.settings.url! };
    [client, other] = [new pg.Client(address), new pg.Client(address)];
    await Promise.all([client.connect(), other.connect()]);
  });
  afterEach(async () => {
    await Promise.all([client.end(), other.end()]);
    await fresh.close();
  });

  /** The schema before the migration that creates the index. */
  async function beforeTheMigration(): Promise<void> {
    await client.query(`DELETE FROM _prisma_migrations WHERE migration_name = '${MIGRATION}'`);
    await client.query("DROP INDEX credentials_state_idx");
    await client.query(`CREATE INDEX credentials_state_idx ON credentials(state)`);
  }

  async function cutOff(index: string): Promise<void> {
    await other.query("BEGIN; LOCK TABLE credentials IN ROW EXCLUSIVE MODE");
    await client.query("SET statement_timeout = 300");
    await expect(client.query(`CREATE INDEX CONCURRENTLY ${index}`)).rejects.toThrow("statement timeout");
    await client.query("SET statement_timeout = 0");
    await other.query("COMMIT");
  }

  const doctor = async () => {
    const db = await openDatabase(fresh.settings);
    return look({ db } as Services).finally(() => db.close());
  };
  const indexes = async () => {
    const { rows } = await client.query<{ name: string; isValid: boolean }>(
      `SELECT indexrelid::regclass::text AS name, indisvalid AS "isValid" FROM pg_index
       WHERE indexrelid::regclass::text LIKE 'credentials_state%' ORDER BY 1`,
    );
    return rows;
  };

  it("makes `kit migrate` refuse to start: it names the index and the command to run", async () => {
    await beforeTheMigration();
    await cutOff(NEW_INDEX);
    const { code, stderr } = await kit({ ...fresh.environment }, ["migrate"]);
    expect(code).toBe(1);
    const said = stderr.replace(/\s+/g, " ");
    expect(said).toContain("Not valid: the index credentials_state_new (of credentials).");
    expect(said).toContain("A CREATE INDEX or REINDEX with CONCURRENTLY was cut off, or is still at work.");
    expect(said).toContain("run kit migrate again: nothing was begun");
    expect(await indexes()).toEqual([
      { name: "credentials_state_idx", isValid: true },
      { name: "credentials_state_new", isValid: false },
    ]);
    expect(await doctor()).toMatchObject({
      ok: false,
      message: expect.stringMatching(/lacks 1 migration\. Not valid: the index credentials_state_new/),
    });
  }, 30_000);

  it.each(["DROP INDEX CONCURRENTLY", "REINDEX INDEX CONCURRENTLY"])(
    "is gone after the %s that the message names",
    async (command) => {
      await beforeTheMigration();
      await cutOff(NEW_INDEX);
      const { stderr } = await kit({ ...fresh.environment }, ["migrate"]);
      const [statement] = new RegExp(`${command} [^;]+;`).exec(stderr.replace(/\s+/g, " "))!;
      await client.query(statement);
      expect(await kitJson({ ...fresh.environment }, ["migrate"])).toMatchObject({
        code: 0,
        data: { applied: [MIGRATION] },
      });
      expect(await indexes()).toEqual([{ name: "credentials_state_idx", isValid: true }]);
      expect(await doctor()).toMatchObject({ ok: true, fix: null });
    },
    30_000,
  );

  it("is only a warning of `kit doctor` when there is nothing to migrate", async () => {
    await cutOff(`"By hand" ON credentials (lease)`);
    expect(await doctor()).toMatchObject({
      ok: true,
      message: expect.stringContaining(`the index "By hand" (of credentials)`),
      fix: expect.stringContaining(`DROP INDEX CONCURRENTLY "By hand";`),
    });
    expect(await kitJson({ ...fresh.environment }, ["migrate"])).toMatchObject({
      code: 0,
      data: { applied: [] },
    });
  }, 30_000);

  it("that a REINDEX left behind is only to be dropped, because the valid one is still there", async () => {
    await cutOff(`credentials_due_ccnew ON credentials (lease)`);
    const { fix } = await doctor();
    expect(fix).toContain("DROP INDEX CONCURRENTLY credentials_due_ccnew;");
    expect(fix).not.toContain("REINDEX");
  }, 30_000);

  it("is ignored on tables that are not ours", async () => {
    await client.query("CREATE TABLE drawers (height INT)");
    await beforeTheMigration();
    await client.query("INSERT INTO drawers VALUES (1), (1)");
    await expect(client.query("CREATE UNIQUE INDEX CONCURRENTLY twice ON drawers (height)")).rejects.toThrow(
      "could not create unique index",
    );
    expect(await kitJson({ ...fresh.environment }, ["migrate"])).toMatchObject({ code: 0 });
  }, 30_000);
});
