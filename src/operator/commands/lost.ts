import { UsedWrongly } from "../errors.ts";
import { becameOf, listLost, type LostRecord, madeHere, tickOff, TO_DO, typedIds } from "../lost-sales.ts";
import { counted, moment } from "../wording.ts";
import type { Paint } from "./host.ts";
import { DONE, example, FAILED, safe, table } from "./outcome.ts";
import { JSON_LINES, writeLines } from "./pages.ts";
import type { KitCommand } from "./session.ts";

function cursor(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsedWrongly(`"${text}" is not a place in the list: use the "next" of a page.`);
}

interface Options {
  done?: string[];
  after?: number | null;
  jsonLines?: boolean;
}

export function addLost(program: KitCommand): void {
  program
    .command("lost")
    .summary("sales that were lost")
    .description("sales that were lost: provisions that the service had to refuse")
    .option("--done <id...>", "tick these off (3, or 3-17): somebody has written to the customer")
    .option("--after <cursor>", 'the next page: the "next" of the one before', cursor)
    .option(...JSON_LINES)
    .addHelpText("after", `${example("kit lost --done 3-17")}`)
    .does(async (session, { done, after = null, jsonLines }: Options) => {
      if (done && jsonLines) throw new UsedWrongly("--done and --json-lines do not go together.");
      const ids = done && typedIds(done);
      const db = await session.database({ changes: ids !== undefined });
      if (jsonLines)
        return writeLines(session, after ?? Number.MAX_SAFE_INTEGER, async (before) => {
          const { lost: items, next } = await listLost(db, before);
          return { items, next };
        });
      const ticked = ids ? await tickOff(db, ids, session.user()) : null;
      const page = await listLost(db, after);
      const words = ticked === null ? undefined : `${counted(ticked, "lost sale")} ticked off.`;
      return {
        data: ticked === null ? page : { ...page, ticked },
        ...(words && { message: words }),
        show: (paint) => [words, text(paint, page)].filter(Boolean).join("\n\n"),
        exitCode: ticked === 0 ? FAILED : DONE,
      };
    });
}

function text(paint: Paint, { lost, open, next }: Awaited<ReturnType<typeof listLost>>): string {
  if (lost.length === 0) return "No sale was lost.";
  const reasons = [...new Set(lost.map(({ reason }) => reason))];
  return [
    table(paint, lost.map(inRow)),
    "",
    ...reasons.slice(0, 5).map((reason) => `Refused because of: ${safe(reason)}`),
    open === 0
      ? "All are ticked off or installed since."
      : `${counted(open, "sale")} to be dealt with. ${TO_DO}`,
    ...(open > 0 ? ["Then tick them off: kit lost --done ID…"] : []),
    ...madeHere(lost),
    ...(next === null ? [] : [`For more, the same command with --after ${next}`]),
  ].join("\n");
}

const inRow = ({ id, at, uuid, plan, name, app, doneBy, ...sale }: LostRecord) => ({
  id: String(id),
  "at (utc)": moment(at),
  uuid,
  plan,
  name: name ?? "",
  app: app ?? "",
  "": doneBy === null ? becameOf(sale) : `ticked off by ${doneBy}`,
});
