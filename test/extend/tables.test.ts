import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { statement } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { anOpenDatabase } from "../support/open-database.ts";

// The migrations of a vendor's own tables, in a folder and a schema of their own.

const opened = anOpenDatabase();
let yours: string;
beforeAll(async () => {
  yours = await mkdtemp(path.join(tmpdir(), "yours-"));
});
afterAll(() => rm(yours, { recursive: true }));

async function write(name: string, script: string): Promise<void> {
  await mkdir(path.join(yours, name), { recursive: true });
  await writeFile(path.join(yours, name, "migration.sql"), script);
}
const run = () => migrate({ url: opened.settings.url, yours });
const rows = (text: string) => opened.database.query(statement("", text));

it("are applied after the kit's, once, and make tables of the schema yours beside the kit's of the same name", async () => {
  await write("20270101000000_steps", "CREATE TABLE steps (height int); INSERT INTO steps VALUES (17)");
  expect(await run()).toEqual({ applied: ["yours/20270101000000_steps"] });
  expect(await run()).toEqual({ applied: [] });
  expect(await rows("SELECT height FROM yours.steps")).toEqual([{ height: 17 }]);
  expect(await rows("SELECT * FROM public.steps")).toEqual([]);
});

it("that fail midway leave nothing behind and are named; the corrected one is applied by the next run", async () => {
  const name = "20270102000000_halves";
  await write(name, "CREATE TABLE halves (part int); ALTER TABLE nowhere ADD COLUMN part int");
  await expect(run()).rejects.toThrow(
    `the migration yours/${name} failed: relation "nowhere" does not exist`,
  );
  expect(await rows("SELECT to_regclass('yours.halves')::text AS found")).toEqual([{ found: null }]);
  await write(name, "CREATE TABLE halves (part int)");
  expect(await run()).toEqual({ applied: [`yours/${name}`] });
  expect(await rows("SELECT * FROM yours.halves")).toEqual([]);
});
