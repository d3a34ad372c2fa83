import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { differences, tablesIn } from "./compare-schema.ts";
import { modelsOf } from "./models.ts";
import { temporaryDatabase } from "./temporary-database.ts";

// Whether the models of the kit, and of the service in this folder, agree with the migrations.

const [yours = "src/your-service"] = process.argv.slice(2);
const sides = [
  { file: "prisma/schema.prisma", schema: "public", migrations: "prisma/migrations" },
  { file: `${yours}/schema.prisma`, schema: "yours", migrations: `${yours}/migrations` },
] as const;

const database = await temporaryDatabase(path.resolve(yours, "migrations"));
const client = new pg.Client(database.url);
try {
  await client.connect();
  for (const side of sides) {
    // Who writes only SQL has no models.
    if (!existsSync(side.file)) continue;
    const found = differences(
      modelsOf(readFileSync(side.file, "utf8")),
      await tablesIn(client, side.schema),
      side,
    );
    for (const difference of found) console.error(difference);
    if (found.length > 0) process.exitCode = 1;
  }
} finally {
  await client.end();
  await database.remove();
}
