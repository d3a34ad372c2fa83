import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { MigrationList } from "@prisma/schema-engine-wasm";

/** The same from `src/` and from `dist/`: `prisma/` is beside both. */
const FOLDER = fileURLToPath(new URL("../../prisma/migrations", import.meta.url));

/** The names of all migrations that this version of the code knows, oldest first. */
export async function migrationNames(folder = FOLDER): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

/** All migrations, in the form that Prisma's schema engine reads. */
export async function migrationList(folder = FOLDER): Promise<MigrationList> {
  const names = await migrationNames(folder);
  return {
    baseDir: folder,
    lockfile: {
      path: "migration_lock.toml",
      content: await readFile(path.join(folder, "migration_lock.toml"), "utf8"),
    },
    shadowDbInitScript: "",
    migrationDirectories: await Promise.all(names.map((name) => migrationDirectory(folder, name))),
  };
}

async function migrationDirectory(folder: string, name: string) {
  const value = await readFile(path.join(folder, name, "migration.sql"), "utf8");
  return { path: name, migrationFile: { path: "migration.sql", content: { tag: "ok" as const, value } } };
}
