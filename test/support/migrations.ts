import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { migrate } from "../../src/database/migrate.ts";
import { administer, aFreshDatabase } from "./database.ts";

/** Scripts of migrations by their names; null removes one. */
export type Scripts = Record<string, string | Buffer | null>;

/** A migrated database, and a service with migrations of its own, which a test writes. */
export async function aVendorsDatabase() {
  const database = await aFreshDatabase();
  const folder = await mkdtemp(path.join(tmpdir(), "addon-yours-"));
  const url = database.settings.url;
  const said: string[] = [];
  return {
    url,
    folder,
    said,
    async write(scripts: Scripts): Promise<void> {
      for (const [name, script] of Object.entries(scripts)) {
        await rm(path.join(folder, name), { recursive: true, force: true });
        if (script === null) continue;
        await mkdir(path.join(folder, name));
        await writeFile(path.join(folder, name, "migration.sql"), script);
      }
    },
    /** Migrates, without the waits that a person would not notice. */
    run: (patience: Parameters<typeof migrate>[0]["patience"] = {}) =>
      migrate({
        url,
        yours: folder,
        say: (sentence: string) => void said.push(sentence),
        patience: { lockMs: 200, stepsBackMs: 50, inAllMs: 20_000, pollMs: 20, ...patience },
      }),
    rows: <Row = Record<string, unknown>>(text: string) =>
      administer(url, (ask) => ask(text)) as Promise<Row[]>,
    /** Removes the vendor's migrations, and what they have made in their schema. */
    async reset(): Promise<void> {
      said.length = 0;
      await rm(folder, { recursive: true });
      await mkdir(folder);
      await administer(url, (ask) => ask("DROP SCHEMA IF EXISTS yours CASCADE"));
    },
    async close(): Promise<void> {
      await rm(folder, { recursive: true });
      await database.close();
    },
  };
}
