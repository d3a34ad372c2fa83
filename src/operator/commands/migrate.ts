import type { MigrationReport } from "../migrations.ts";
import { examples, type AddCommand } from "./command.ts";
import { screenOf } from "./screen.ts";
import { counted, safe, wrapped } from "./text.ts";

export const addMigrate: AddCommand = (program, act) => {
  program
    .command("migrate")
    .description("bring the database's schema up to date (in the release phase of each deploy)")
    .addHelpText("after", examples("kit migrate"))
    .action(
      act(async (session) => {
        const { migrateDatabase, MIGRATION_SETTINGS } = await import("../migrations.ts");
        const config = session.settings(MIGRATION_SETTINGS);
        session.begin();
        const { columns } = screenOf(session.host, "stderr");
        const report = await migrateDatabase(config, (sentence) =>
          session.say(wrapped(safe(sentence), columns, "  ")),
        );
        return { data: report, show: () => inWords(report) };
      }),
    );
};

function inWords({ applied, database }: MigrationReport): string {
  if (applied.length === 0) return `The schema is up to date: ${safe(database)}.`;
  const head = `Applied ${counted(applied.length, "migration")} to ${safe(database)}:`;
  return [head, ...applied.map((name) => `  ${name}`)].join("\n");
}
