import { UsedWrongly } from "../errors.ts";
import { counted } from "../wording.ts";
import { safe } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

export function addMigrate(program: KitCommand): void {
  program
    .command("migrate")
    .summary("bring the schema up to date")
    .description("bring the database's schema up to date (in the release phase of each deploy)")
    .option(
      "--wait <minutes>",
      "how long to wait for another process that migrates; 10 unless given",
      typedMinutes,
    )
    .does(async (session, { wait }: { wait?: number }) => {
      const config = session.settings(["databaseUrl", "migrationDatabaseUrl", "databaseCa"]);
      const { migrate } = await import("../../database/migrate.ts");
      const setting = config.migrationDatabaseUrl ? "MIGRATION_DATABASE_URL" : "DATABASE_URL";
      const data = await migrate({
        url: (config.migrationDatabaseUrl ?? config.databaseUrl).reveal(),
        setting,
        ca: config.databaseCa,
        say: (sentence) => session.say(safe(sentence)),
        ...(wait !== undefined && { patience: { waitMs: wait * 60_000 } }),
      });
      const end = `${counted(data.applied.length, "migration")} applied: the schema is up to date.`;
      return { data, show: () => [...data.applied, end].join("\n") };
    });
}

function typedMinutes(text: string): number {
  const minutes = Number(text);
  if (text.trim() === "" || !(minutes >= 0 && minutes <= 1_440))
    throw new UsedWrongly("--wait takes a number of minutes, from 0 to 1440.");
  return minutes;
}
