import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { listResources, showResource } from "../../src/operator/resources.ts";
import { harmfulTo } from "../support/expanding.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";

// During a rolling release the previous build still runs on the schema of the newer one. So a migration only adds;
// what becomes unnecessary is removed by a later release.

const FOLDER = "prisma/migrations";
const read = (name: string) => readFile(path.join(FOLDER, name, "migration.sql"), "utf8");
const names = (await readdir(FOLDER)).filter((name) => !name.includes(".")).sort();

describe("migrations", () => {
  /** The migrations that databases in production have had; a fork adds its own after them. */
  const landed: Record<string, string> = {
    "20260101000000_resources_and_credentials": "3458da0c9edf0fc2",
    "20260201000000_people_and_sessions": "cc22cfbecf9abfad",
    "20260301000000_most_urgent_grants_first": "14a2ae3b511ce217",
    "20260401000000_metrics_and_request_ids": "f3d9a6051f47a03a",
    "20260402000000_sign_on_of_customers": "8efc6e264d7b0716",
    "20260403000000_operator_pages": "5f8444cf17770542",
    "20260404000000_who_acted": "c3e42330c7b64d86",
    "20260405000000_room_beside_credentials": "94fc8ec49847a08c",
    "20260406000000_names_that_fit_an_index": "f9ffc1d57e19ecd2",
    "20260407000000_attention_by_uuid": "54494d2b8b559e3b",
    "20260407000000_lanes_of_steps": "27eeb63c1e3ea356",
    "20260407000001_what_fails": "0912ef7420f7a311",
    "20260407000002_tokens_nobody_refreshes": "48e96fbb57e5b0cc",
  };

  it("are all listed here, up to the last that landed", () => {
    const last = Object.keys(landed).sort().at(-1)!;
    expect(names.filter((name) => name <= last).sort()).toEqual(Object.keys(landed).sort());
  });

  it.each(Object.entries(landed))("%s is unchanged since it landed", async (name, hash) => {
    expect(
      createHash("sha256")
        .update(await read(name))
        .digest("hex")
        .slice(0, 16),
    ).toBe(hash);
  });

  it("after the first are compatible with the build before them", async () => {
    expect(names.length).toBeGreaterThan(1);
    for (const name of names.slice(1)) expect([name, ...harmfulTo(await read(name))]).toEqual([name]);
  });

  it.each([
    `DROP TABLE "events"`,
    `ALTER TABLE "events" DROP COLUMN "detail"`,
    `ALTER TABLE "events" RENAME COLUMN "detail" TO "details"`,
    `ALTER TABLE "events" ADD COLUMN "who" TEXT NOT NULL`,
    `ALTER TABLE "events" ALTER COLUMN "detail" SET NOT NULL`,
    `ALTER TABLE "events" ADD CONSTRAINT "few" CHECK ("id" < 9)`,
    `CREATE UNIQUE INDEX "one" ON "events"("uuid")`,
    `UPDATE "events" SET "detail" = '{}'`,
  ])("are checked for changes that break the build before them: %s", (sql) => {
    expect(harmfulTo(`CREATE TABLE "fine" ("id" INT);\n${sql};`)).toEqual([sql]);
  });
});

describe("a build that still runs after a later one has migrated the database", () => {
  let life: LifecycleWorld;
  let folder: string;
  beforeAll(async () => {
    life = await aLifecycle();
    folder = await mkdtemp(path.join(tmpdir(), "addon-later-"));
  });
  afterAll(async () => {
    await life.world.close();
    await rm(folder, { recursive: true });
  });

  it("keeps working, and can be started again", async () => {
    // Every prepared statement on its connections has been used.
    const before = await life.settled();
    await life.control.changePlan(before, "premium");
    await life.control.deprovision(await life.settled("dedicated"));

    const tables = await life.world.rows<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'`,
    );
    await migrateAsALaterBuild(tables.map(({ name }) => name));

    for (const start of ["still running", "started again"]) {
      if (start === "started again") await life.world.restart();
      const uuid = await life.settled();
      for (const each of [before, uuid]) {
        const { generation } = (await life.credential(each))!;
        await life.world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [each]);
        life.world.service.services.jobs.wake("refresh-tokens");
        await life.becomes(each, { state: "active", generation: generation + 1 });
      }
      expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(200);
      expect((await life.control.redeliver(uuid)).response.status).toBe(200);
      const { db } = life.world;
      expect((await listResources(db, {})).resources.map((each) => each.uuid)).toContain(uuid);
      expect(await showResource(db, uuid)).toMatchObject({ plan: "premium" });
      expect((await life.control.deprovision(uuid)).response.status).toBe(204);
    }
    expect((await life.control.deprovision(before)).response.status).toBe(204);
    expect(life.world.logged()).not.toMatch(/"level":"error"/);
  });

  /** Adds to every table what a later build may add: columns, one of them NOT NULL, an index, and another table. */
  async function migrateAsALaterBuild(tables: string[]): Promise<void> {
    const sql = tables.flatMap((table) => [
      `ALTER TABLE "${table}" ADD COLUMN "later" TEXT, ADD COLUMN "later_always" INTEGER NOT NULL DEFAULT 7`,
      `CREATE INDEX "${table}_later_idx" ON "${table}"("later")`,
    ]);
    const all = [...sql, `CREATE TABLE "later_things" ("id" INT NOT NULL)`]
      .map((each) => `${each};`)
      .join("\n");
    expect(harmfulTo(all)).toEqual([]);
    await mkdir(path.join(folder, "29990101000000_later"));
    await writeFile(path.join(folder, "29990101000000_later", "migration.sql"), all);
    const url = life.world.environment["DATABASE_URL"]!;
    expect(await migrate({ url, folder })).toEqual({ applied: ["29990101000000_later"] });
  }
});
