import { MIGRATION_SETTINGS } from "../../operator/migration-settings.ts";
import type { MigrationReport } from "../../operator/migrations.ts";
import { examples, type AddCommand } from "../command.ts";
import { counted, safe } from "../text.ts";

export const addMigrate: AddCommand = (program, act) => {
  program
    .command("migrate")
    .description("bring the database's schema up to date (in the release phase of each deploy)")
    .addHelpText("after", examples("kit migrate"))
    .action(
      act(async (session) => {
        const config = session.settings(MIGRATION_SETTINGS);
        session.begin();
        const { migrateDatabase } = await import("../../operator/migrations.ts");
        const report = await migrateDatabase(config);
        return { data: report, show: () => inWords(report) };
      }),
    );
};

function inWords({ applied, database }: MigrationReport): string {
  if (applied.length === 0) return `The schema is up to date: ${safe(database)}.`;
  const head = `Applied ${counted(applied.length, "migration")} to ${safe(database)}:`;
  return [head, ...applied.map((name) => `  ${name}`)].join("\n");
}
