import { examine, inShort } from "../doctor/doctor.ts";
import { type Check, whomInWords } from "../doctor/finding.ts";
import { UsedWrongly } from "../errors.ts";
import { counted } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, FAILED, MISCONFIGURED, safe, safeLines } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

export function addMigrate(program: KitCommand): void {
  program
    .command("migrate")
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

export function addDoctor(program: KitCommand): void {
  program
    .command("doctor")
    .description("look at settings, database, keys, client secret, sweeps and platform, and say what to fix")
    .does(async (session) => {
      const report = await examine({
        readSettings: () => session.settings(),
        open: session.openContext,
      });
      const isFit = report.checks.every(({ id, ok }) => ok || !["settings", "start"].includes(id));
      return {
        data: report,
        show: (paint) =>
          [...report.checks.map((check) => showCheck(paint, check)), "", inShort(report)].join("\n"),
        exitCode: report.ok ? DONE : isFit ? FAILED : MISCONFIGURED,
      };
    });
}

const INDENT = " ".repeat(16);

function showCheck(paint: Paint, check: Check): string {
  const { id, ok, fix: anyFix, found = [check], isChecked = true } = check;
  const well = anyFix === null ? paint.green("✓") : paint.yellow("!");
  const mark = ok ? well : paint.red(isChecked ? "✗" : "–");
  const lines = found.flatMap(({ message, fix, whom, runbook }) => [
    safeLines(message, INDENT),
    ...(whom ? whomInWords(whom).map((line) => safe(`  ${line}`)) : []),
    ...(fix === null ? [] : [paint.cyan(`→ ${safeLines(fix, INDENT)}`)]),
    ...(runbook === undefined ? [] : [paint.dim(`  docs/operate.md, "${runbook}"`)]),
  ]);
  return `${mark} ${paint.bold(id.padEnd(INDENT.length - 3))} ${lines.join(`\n${INDENT}`)}`;
}
