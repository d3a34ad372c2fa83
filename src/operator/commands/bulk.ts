import { BULK_ACTIONS, type BulkAction } from "../bulk-actions.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import type { Stage } from "../left.ts";
import { begunNow } from "../left-store.ts";
import type { How, Report } from "../report.ts";
import type { Which } from "../work-through.ts";
import { bulkOutcome, DONE, FAILED, jsonText, linesOfReport, type Outcome, safe } from "./outcome.ts";
import { writeItems } from "./pages.ts";
import type { KitCommand, Session } from "./session.ts";
import { type Seen, told, watch } from "./watch.ts";

const OF_MANY = `
A resource that is skipped is no failure (exit code 0). Ctrl-C stops it: calls in
flight finish first, and it says how many are left ("left" with --json).`;

const WATCHED = `

With --watch it then counts every 5 seconds what a running service still does, until
nothing is left: in place on a terminal, elsewhere in a line each time (with --json,
a document in a line, after that of the result). Ctrl-C ends the watch, and not the
work. Exit code 0: nothing is left; 1: otherwise.`;

/** What is done to one resource, to several, or to all. */
export function addBulk(program: KitCommand): void {
  const groups: Record<string, KitCommand> = {};
  for (const action of BULK_ACTIONS) {
    const { group, about = "", verb, summary = "", does, all, question, left } = action;
    const home = group ? (groups[group] ??= program.command(group).description(about)) : program;
    const command = home
      .command(verb)
      .argument("[uuid...]", "the resources; or --all")
      .option("--all", all)
      .option("--json-lines", "a JSON line for each resource, and the sum on standard error")
      .summary(summary)
      .description(does)
      .addHelpText("after", left ? OF_MANY + WATCHED : OF_MANY)
      .does((session, typed: string[], options: Options) => carryOut(session, action, typed, options));
    if (question) command.option("--yes", "do not ask");
    if (left) command.option("--watch", "then count what is left, until nothing is");
  }
}

interface Options {
  all?: boolean;
  yes?: boolean;
  watch?: boolean;
  jsonLines?: boolean;
}

async function carryOut(
  session: Session,
  action: BulkAction,
  typed: readonly string[],
  { all = false, yes = false, watch: isWatched = false, jsonLines = false }: Options,
): Promise<Outcome> {
  if (all === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
  if (jsonLines && isWatched) throw new UsedWrongly("Say --json-lines or --watch, not both.");
  const which = all ? "all" : typed.map(typedUuid);
  if (action.question && !yes) await session.confirm(action.question);
  const ctx = await session.context({ changes: true });
  const begun = isWatched ? await begunNow(ctx.db) : null;
  const how = session.how();
  const work = (during: How) => action.work(ctx, which, during);
  const result = begun ? await told(session, how, work) : await work(how);
  const outcome = bulkOutcome(result, action.doneWord);
  if (jsonLines) return writeItems(session, linesOfReport(result), outcome);
  if (!begun || !action.left || how.signal.aborted) return outcome;
  const { data: report, show } = outcome;
  await session.write(session.isJson ? jsonText(report) : show(session.paint("stdout")));
  const left = () => action.left!(ctx, { which, begun, report: report as Report });
  const watched = await watch(session, title(action, which), async () => seenOf(await left()));
  return { ...watched, ...(outcome.message && { message: outcome.message }) };
}

const title = ({ group, verb }: BulkAction, which: Which) =>
  ["kit", group, verb, which === "all" ? "--all" : `of ${which.length}`].filter(Boolean).join(" ");

function seenOf(stages: readonly Stage[]): Seen {
  const left = stages.filter(({ count }) => count > 0);
  const shown = stages.filter(({ count, isFinal }) => count > 0 || !isFinal);
  const width = Math.max(...shown.map(({ name }) => name.length));
  const size = Math.max(...shown.map(({ count }) => String(count).length));
  const words = left.map(({ name, count, about }) => `${count} ${name}${about ? ` (${about})` : ""}`);
  return {
    data: { left: stages.map(({ name, count, about = null }) => ({ name, count, about })) },
    show: (paint) =>
      shown
        .map(({ name, count, about = "" }) =>
          `${paint.bold(name.padEnd(width))}  ${String(count).padStart(size)}  ${safe(about)}`.trimEnd(),
        )
        .join("\n"),
    line: safe(words.length > 0 ? `Left: ${words.join(", ")}.` : "Nothing is left."),
    exitCode: left.length === 0 ? DONE : FAILED,
    isOver: left.every(({ isFinal = false }) => isFinal),
  };
}
