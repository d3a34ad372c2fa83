import type { Command } from "commander";
import type { ImportReport, Skipped } from "../import/import-resources.ts";
import { examples, type Act } from "./command.ts";
import { DONE, FAILED } from "./exit-codes.ts";
import { inputLines } from "./input-lines.ts";
import { some } from "./report.ts";
import type { Screen } from "./screen.ts";
import { counted } from "./text.ts";

/** `kit resources import`, a subcommand of `resources`. */
export function addImport(resources: Command, act: Act): void {
  resources
    .command("import")
    .description("take over installations from before the kit: JSON lines on standard input")
    .addHelpText("after", HELP)
    .action(
      act(async (session) => {
        const { importInstallations, isWhole } = await import("../import/import-resources.ts");
        const { db, vault, offer } = await session.services();
        const { onProgress } = session;
        const signal = session.stopSignal();
        const needs = { db, vault, offer, signal, onProgress };
        if (session.host.stdin.isTTY) {
          session.letThemType();
          session.say("Type or paste one JSON object a line; Ctrl-D ends.");
        }
        const report = await importInstallations(needs, inputLines(signal, session.host.stdin));
        if (signal.aborted)
          session.say("Stopped: what was taken is kept. The same command with all lines goes on.");
        return {
          data: report,
          show: (screen) => show(screen, report),
          exitCode: isWhole(report) && !signal.aborted ? DONE : FAILED,
        };
      }),
    );
}

const HELP = `${examples("kit resources import < installations.jsonl")}

A line is {"uuid": "…", "plan": "basic", "region": "us", "name": "…"}; region
and name may be missing. What exists is never changed. Exit code 0: every line
is imported or exists; 1: some line was not usable (its number and reason are
told). Then: kit grants recover --all`;

/** What is wrong with a line, for people. */
const SENTENCES: Readonly<Record<Exclude<Skipped["reason"], "exists">, string>> = {
  not_json: "This is not one JSON object in UTF-8.",
  no_uuid: "It has no uuid.",
  no_plan: "It names no plan.",
  unknown_plan: "Its plan is not on offer: src/your-service/plans.ts.",
  bad_text: "Its region or name is no text that can be kept.",
};

function show({ paint }: Screen, { imported, skipped }: ImportReport): string {
  const bad = skipped.flatMap(({ line, uuid, reason }) =>
    reason === "exists" ? [] : [`line ${line}: ${uuid ? `${uuid}: ` : ""}${SENTENCES[reason]}`],
  );
  return [
    ...some(bad, (told) => `${paint.red("✗")} ${told}`),
    `${counted(imported, "resource")} imported, ${skipped.length - bad.length} existed, ${bad.length} not usable.`,
  ].join("\n");
}
