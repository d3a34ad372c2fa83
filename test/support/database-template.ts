import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { migrate, openDatabase } from "../../src/database/database.ts";
import { migrationList } from "../../src/database/migrations-folder.ts";
import { administer, databaseUrl } from "./database.ts";

/** Kept until a migration or PGlite changes, because building it takes 5 seconds. */
const CACHE = fileURLToPath(new URL("../../node_modules/.cache/addon-test-database", import.meta.url));

let template: Promise<string> | undefined;

/** @returns the `DATA_DIR` of a migrated embedded database, to be copied */
export function embeddedTemplate(): Promise<string> {
  return (template ??= build());
}

/**
 * Builds the template if there is none. Of several processes at the same time each builds its own, and one is kept:
 * building blocks the event loop for so long that a lock would be taken for a dead process's.
 */
async function build(): Promise<string> {
  const folder = path.join(CACHE, await fingerprint());
  if (existsSync(folder)) return folder;
  const building = `${folder}.${process.pid}.${randomBytes(4).toString("hex")}`;
  const database = await openDatabase({ dataDir: building, role: "owner", poolSize: 1 });
  await database.close();
  await rename(building, folder).catch(() => rm(building, { recursive: true }));
  return folder;
}

/** @returns the name of a migrated database on the server, to be copied */
export async function postgresqlTemplate(serverUrl: string): Promise<string> {
  const name = `addon_template_${await fingerprint()}`;
  await administer(serverUrl, async (ask) => {
    await ask(`SELECT pg_advisory_lock(20260101)`);
    if ((await ask(`SELECT 1 FROM pg_database WHERE datname = '${name}'`)).length > 0) return;
    await ask(`DROP DATABASE IF EXISTS ${name}_building`);
    await ask(`CREATE DATABASE ${name}_building`);
    await migrate({ url: databaseUrl(serverUrl, `${name}_building`) });
    await ask(`ALTER DATABASE ${name}_building RENAME TO ${name}`);
  });
  return name;
}

async function fingerprint(): Promise<string> {
  const { version } = createRequire(import.meta.url)("@prisma/client/package.json") as { version: string };
  const pglite = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const { migrationDirectories } = await migrationList();
  return createHash("sha256")
    .update(JSON.stringify([version, pglite, migrationDirectories]))
    .digest("hex")
    .slice(0, 12);
}
