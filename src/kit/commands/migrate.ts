import type { LockWait } from "../../database/database.ts";
import { MIGRATION_SETTINGS } from "../../operator/migration-settings.ts";
import type { MigrationReport } from "../../operator/migrations.ts";
import { duration } from "../../operator/wording.ts";
import { examples, type AddCommand } from "../command.ts";
import { screenOf } from "../screen.ts";
import { counted, safe, wrapped } from "../text.ts";

/** At most this many of the sessions that hold the lock are named. */
const MOST_NAMED = 3;

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
        const { columns } = screenOf(session.host, "stderr");
        const report = await migrateDatabase(config, (wait) =>
          session.say(wrapped(waitInWords(wait), columns, "  ")),
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

function waitInWords({ isForMigration, lockOn, holders }: LockWait): string {
  const what = isForMigration
    ? "another migration to end"
    : lockOn
      ? `a lock on ${lockOn}`
      : "transactions of others to end";
  const named = holders.slice(0, MOST_NAMED).map(({ pid, name, state, seconds }) => {
    const about = [name, state, seconds !== null && `for ${duration(seconds)}`].filter(Boolean);
    return `process ${pid}${about.length > 0 ? ` (${about.join(", ")})` : ""}`;
  });
  if (holders.length > MOST_NAMED) named.push(`${holders.length - MOST_NAMED} more`);
  return safe(`Waiting for ${what}${named.length > 0 ? `: ${named.join("; ")}` : ""}.`);
}
