import type { Check } from "../../operator/doctor/check.ts";
import type { DoctorReport } from "../../operator/doctor/doctor.ts";
import { examples, type AddCommand } from "../command.ts";
import { DONE, FAILED, MISCONFIGURED } from "../exit-codes.ts";
import type { Screen } from "../screen.ts";
import { safe, wrapped } from "../text.ts";

export const addDoctor: AddCommand = (program, act) => {
  program
    .command("doctor")
    .description("look at settings, database, keys, client secret, sweeps and platform, and say what to fix")
    .addHelpText("after", examples("kit doctor"))
    .action(
      act(async (session) => {
        const { examine } = await import("../../operator/doctor/doctor.ts");
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

function exitCodeOf({ ok, checks }: DoctorReport): number {
  if (ok) return DONE;
  const isMisconfigured = checks.some(({ id, ok }) => ["settings", "offer"].includes(id) && !ok);
  return isMisconfigured ? MISCONFIGURED : FAILED;
}

function show(screen: Screen, report: DoctorReport): string {
  return [...report.checks.map((check) => showCheck(screen, check)), "", summed(report)].join("\n");
}

function summed({ ok, checks }: DoctorReport): string {
  if (!ok) return `${checks.filter((check) => !check.ok).length} of ${checks.length} checks failed.`;
  const warnings = checks.filter(({ fix }) => fix !== null);
  if (warnings.length === 0) return "Fit for work.";
  return `No check failed; to look at: ${warnings.map(({ id }) => id).join(", ")}.`;
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
