import type { Check } from "../doctor/check.ts";
import type { DoctorReport } from "../doctor/doctor.ts";
import { examples, type AddCommand } from "./command.ts";
import { DONE, FAILED, MISCONFIGURED } from "./exit-codes.ts";
import type { Screen } from "./screen.ts";
import { safe, wrapped } from "./text.ts";

export const addDoctor: AddCommand = (program, act) => {
  program
    .command("doctor")
    .description("look at settings, database, keys, client secret, sweeps and platform, and say what to fix")
    .addHelpText("after", examples("kit doctor") + EXIT_CODES)
    .action(
      act(async (session) => {
        const { examine } = await import("../doctor/doctor.ts");
        const report = await examine({
          offer: await session.offer(),
          readSettings: () => session.settings(),
          open: session.openServices,
          onProgress: session.onProgress,
        });
        return { data: report, show: (screen) => show(screen, report), exitCode: exitCodeOf(report) };
      }),
    );
};

const EXIT_CODES = `

Exit code 0: every check was made, and none failed; 1: one failed, or could not
be made; 78: the settings or the offer are at fault. What could not be checked
is counted apart ("notChecked", "isChecked": false with --json).`;

function exitCodeOf({ ok, checks }: DoctorReport): number {
  if (ok) return DONE;
  const isMisconfigured = checks.some(
    ({ id, ok, isChecked = true }) => ["settings", "offer"].includes(id) && !ok && isChecked,
  );
  return isMisconfigured ? MISCONFIGURED : FAILED;
}

function show(screen: Screen, report: DoctorReport): string {
  const made = report.checks.filter(({ isChecked = true }) => isChecked);
  return [...made.map((check) => showCheck(screen, check)), "", ...summed(screen, report)].join("\n");
}

function summed({ columns, paint }: Screen, { failed, checks }: DoctorReport): string[] {
  const of = (check: Check) => (check.isChecked === false ? [check.message] : []);
  const skipped = [...new Set(checks.flatMap(of))].map((message) => {
    const ids = checks.filter((check) => check.message === message).map(({ id }) => id);
    return paint.yellow(wrapped(`– ${message.slice(0, -1)}: ${ids.join(", ")}.`, columns, "  "));
  });
  const warnings = checks.filter(({ ok, fix }) => ok && fix !== null).map(({ id }) => id);
  const toLookAt = warnings.length === 0 ? "" : `; to look at: ${warnings.join(", ")}`;
  if (failed > 0) return [...skipped, `${failed} of ${checks.length} checks failed.`];
  if (skipped.length > 0) return [...skipped, `No check failed, but not every one was made${toLookAt}.`];
  return [warnings.length === 0 ? "Fit for work." : `No check failed${toLookAt}.`];
}

const INDENT = " ".repeat(14);

function showCheck({ columns, paint }: Screen, { id, ok, message, fix }: Check): string {
  const mark = ok ? (fix === null ? paint.green("✓") : paint.yellow("!")) : paint.red("✗");
  const room = columns - INDENT.length;
  const told = wrapped(message.split("\n").map(safe).join("\n"), room).replaceAll("\n", `\n${INDENT}`);
  const first = `${mark} ${paint.bold(id.padEnd(INDENT.length - 2))}${told}`;
  if (fix === null) return first;
  const advice = wrapped(`→ ${fix}`, room, "  ").replaceAll("\n", `\n${INDENT}`);
  return `${first}\n${INDENT}${paint.cyan(advice)}`;
}
