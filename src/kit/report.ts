import type { TokenReport } from "../operator/tokens.ts";
import type { Screen } from "./screen.ts";
import { safe, wrapped } from "./text.ts";

/** So many of a list are told one by one; --json tells all. */
const MOST_TOLD = 20;

/** Work on many resources, for people: what failed and what was skipped, and how many were `done`. */
export function showReport(
  { columns, paint }: Screen,
  { done, failed, skipped }: TokenReport,
  doneWord: string,
): string {
  const lines = [
    ...some(
      failed,
      ({ uuid, message }) => `${paint.red("✗")} ${uuid}\n    ${wrapped(safe(message), columns, "    ")}`,
    ),
    ...some(skipped, ({ uuid, reason }) => `${paint.yellow("–")} ${uuid}  skipped: ${reason}`),
  ];
  const end = `${done.length} ${doneWord}, ${failed.length} failed, ${skipped.length} skipped.`;
  return [...lines, end].join("\n");
}

/** The first of a list, each told by `tell`, and how many more there are. */
export function some<Item>(items: readonly Item[], tell: (item: Item) => string): string[] {
  const told = items.slice(0, MOST_TOLD).map(tell);
  return items.length > MOST_TOLD
    ? [...told, `  … and ${items.length - MOST_TOLD} more (--json tells all)`]
    : told;
}
