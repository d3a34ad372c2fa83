import { examine, inShort } from "../doctor/doctor.ts";
import type { Check } from "../doctor/finding.ts";
import type { Paint } from "./host.ts";
import { DONE, FAILED, MISCONFIGURED, safeLines } from "./outcome.ts";
import type { KitCommand } from "./session.ts";

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
  const lines = found.flatMap(({ message, fix }) => [
    safeLines(message, INDENT),
    ...(fix === null ? [] : [paint.cyan(`→ ${safeLines(fix, INDENT)}`)]),
  ]);
  return `${mark} ${paint.bold(id.padEnd(INDENT.length - 3))} ${lines.join(`\n${INDENT}`)}`;
}
