import { type DoctorReport, examine, inShort } from "../doctor/doctor.ts";
import { type Check, whomInWords } from "../doctor/finding.ts";
import { momentAway } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, FAILED, MISCONFIGURED, safe, safeLines } from "./outcome.ts";
import type { KitCommand, Session } from "./session.ts";
import { watch } from "./watch.ts";

export function addDoctor(program: KitCommand): void {
  program
    .command("doctor")
    .summary("what is wrong, and how to fix it")
    .option("--watch", "look again every 5 seconds; Ctrl-C ends it")
    .description("check settings, database, keys, client secret, sweeps and platform, and say what to fix")
    .addHelpText(
      "after",
      `
Exit code 0: no check failed; 1: one failed or could not be made; 78: the settings
are wrong. With --json each check has a level: urgent, now (customers wait), later,
remark, fine, or unknown (it could not be made).

With --watch the exit code is that of the last look. Where the output is no
terminal, each look is a line (with --json, a document in a line).`,
    )
    .does(async (session, { watch: isWatched = false }: { watch?: boolean }) => {
      const look = looking(session);
      if (isWatched)
        return watch(session, "kit doctor", async () => {
          const report = await look();
          const show = (paint: Paint) => inBlock(paint, report);
          return { data: report, show, line: inLine(report), exitCode: exitCodeOf(report) };
        });
      const report = await look();
      return {
        data: report,
        isProse: true,
        show: (paint) =>
          [...report.checks.map((check) => showCheck(paint, check)), "", inShort(report)].join("\n"),
        exitCode: exitCodeOf(report),
      };
    });
}

/** What makes all checks; what it has opened serves all of them. */
function looking(session: Session): () => Promise<DoctorReport> {
  let opened: ReturnType<Session["openContext"]> | undefined;
  const open: Session["openContext"] = async (config) => {
    opened ??= session.openContext(config);
    return opened.catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
  };
  return () => examine({ readSettings: () => session.settings(), open });
}

function exitCodeOf({ ok, checks }: DoctorReport): number {
  const isFit = checks.every((check) => check.ok || !["settings", "start"].includes(check.id));
  return ok ? DONE : isFit ? FAILED : MISCONFIGURED;
}

const INDENT = " ".repeat(16);
const LEVELS = ["urgent", "unknown", "now", "later", "remark"] as const;

/** What is not fine, the most urgent first; a terminal may be small. */
function remarkable({ checks }: DoctorReport) {
  return LEVELS.flatMap((level) => checks.filter((check) => check.level === level));
}

function inBlock(paint: Paint, report: DoctorReport): string {
  const fine = report.checks.filter(({ level }) => level === "fine").map(({ id }) => id);
  return [
    ...remarkable(report).map((check) => showCheck(paint, check)),
    `${paint.green("✓")} ${paint.bold(`${fine.length} fine`.padEnd(INDENT.length - 3))} ${fine.join(", ")}`,
    "",
    inShort(report),
  ].join("\n");
}

function inLine(report: DoctorReport): string {
  const named = remarkable(report).map(({ id, level }) => `${id} (${level})`);
  return [inShort(report), named.join(", ")].filter(Boolean).join(" ");
}

function showCheck(paint: Paint, check: Check): string {
  const { id, ok, fix: anyFix, found = [check], isChecked = true } = check;
  const well = anyFix === null ? paint.green("✓") : paint.yellow("!");
  const mark = ok ? well : paint.red(isChecked ? "✗" : "–");
  const lines = found.flatMap(({ message, fix, whom, since, runbook }) => [
    safeLines(message, INDENT),
    ...(since === undefined ? [] : [paint.dim(`  since ${momentAway(since)}, UTC`)]),
    ...(whom ? whomInWords(whom).map((line) => safe(`  ${line}`)) : []),
    ...(fix === null ? [] : [paint.cyan(`→ ${safeLines(fix, INDENT)}`)]),
    ...(runbook === undefined ? [] : [paint.dim(`  docs/operate.md, "${runbook}"`)]),
  ]);
  return `${mark} ${paint.bold(id.padEnd(INDENT.length - 3))} ${lines.join(`\n${INDENT}`)}`;
}
