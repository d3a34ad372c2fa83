import { KitError } from "../../errors.ts";
import { HOLDS, reportRestore } from "../../processes/history.ts";
import { endHold, type History, readHistory } from "../../processes/history-store.ts";
import { typedUuid } from "../errors.ts";
import { CURES_AFTER_RESTORE } from "../reconcile/differences.ts";
import { reconcile } from "../reconcile/reconcile.ts";
import { moment } from "../wording.ts";
import { linesOf, outcomeOf } from "./comparison.ts";
import { example, FAILED, type Outcome, safe } from "./outcome.ts";
import { rate } from "./reconcile.ts";
import type { KitCommand, Session } from "./session.ts";

interface Options {
  platformList?: boolean;
  done?: boolean;
  yes?: boolean;
  after?: string;
  rate: number;
}

export function addAfterRestore(program: KitCommand): void {
  program
    .command("after-restore")
    .summary("after a backup was restored")
    .option("--platform-list", "the platform's uuids, one a line, come on standard input")
    .option("--done", "end the hold: the ledgers agree again")
    .option("--yes", "do not ask")
    .option("--after <uuid>", "continue where a comparison was stopped", typedUuid)
    .option("--rate <n>", "ask the platform about so many resources a second", rate, 20)
    .description("after a backup was restored: hold what would do harm, and compare the ledgers")
    .addHelpText("after", `${example("kit after-restore --platform-list < uuids.txt")}${ENDING}`)
    .does((session, options: Options) => (options.done ? end(session, options) : compare(session, options)));
}

const ENDING = `

A service notices most restores by itself; if it has not, this command begins
the hold. Exit code 1 while the hold lasts.`;

async function compare(
  session: Session,
  { platformList = false, after, rate: most }: Options,
): Promise<Outcome> {
  const ctx = await session.context({ changes: true });
  await reportRestore(ctx.db);
  const { restoredAt, because } = (await readHistory(ctx.db))!;
  const how = session.how();
  const lines = platformList ? linesOf(session, how.signal) : null;
  const comparison = await reconcile(ctx, { lines, after: after ?? null, rate: most }, how);
  const compared = outcomeOf(comparison, null, CURES_AFTER_RESTORE);
  const todo = next(comparison.findings.named().length === 0 && compared.exitCode !== FAILED, platformList);
  return {
    ...compared,
    exitCode: FAILED,
    data: { heldSince: restoredAt, because, ...compared.data, todo },
    show: (paint) =>
      [
        paint.bold(safe(held({ restoredAt, because }))),
        `${HOLDS}. What comes in from then on is done.\n`,
        compared.show(paint),
        ...todo.map((line) => paint.cyan(`→ ${line}`)),
      ].join("\n"),
  };
}

const held = ({ restoredAt, because }: Pick<History, "restoredAt" | "because">) =>
  `Held since ${moment(restoredAt!)} (UTC): the database was restored; ${because}.`;

function next(isAlike: boolean, isListed: boolean): string[] {
  const list =
    "Only the platform's list shows what was sold since the backup: kit after-restore --platform-list < uuids.txt";
  if (isAlike) return [...(isListed ? [] : [list]), "End the hold: kit after-restore --done"];
  return ["Deal with the kinds in this order, and compare again after each.", ...(isListed ? [] : [list])];
}

async function end(session: Session, { yes = false }: Options): Promise<Outcome> {
  if (!yes) session.mustBeAsked();
  const { db } = await session.context({ changes: true });
  const seen = await readHistory(db);
  if (!seen?.isHeld) throw new KitError("not_held", "Nothing is held.");
  if (!yes)
    await session.confirm(
      `${held(seen)} End the hold? What waits is then carried out: pushes of config vars, rotations, retirements.`,
    );
  await endHold(db);
  const message = "The hold has ended; what waited continues within 15 seconds.";
  return { data: { heldSince: null, restoredAt: seen.restoredAt }, message, show: () => message };
}
