import type { TokenReport } from "../tokens.ts";
import { nextStep } from "./failure.ts";
import type { Screen } from "./screen.ts";
import { safe, wrapped } from "./text.ts";

/** At most this many items of a list are shown; --json has all. */
const MOST_TOLD = 20;

/**
 * A report on many resources, for people: the failed and the skipped ones, the counts (`doneWord` names the success),
 * and what to do next.
 */
export function showReport(screen: Screen, { done, failed, skipped }: TokenReport, doneWord: string): string {
  const { columns, paint } = screen;
  return [
    ...failures(screen, failed),
    ...some(skipped, ({ uuid, reason }) => `${paint.yellow("–")} ${uuid}  skipped: ${reason}`),
    `${done.length} ${doneWord}, ${failed.length} failed, ${skipped.length} skipped.`,
    ...nextSteps([...failed.map(({ id }) => id), ...skipped.map(({ reason }) => reason)]).map((each) =>
      paint.dim(wrapped(each, columns)),
    ),
  ].join("\n");
}

/** The failed resources, grouped by reason, each reason shown once. */
export function failures({ columns, paint }: Screen, failed: TokenReport["failed"]): string[] {
  const reasons = new Map<string, string[]>();
  for (const { uuid, message } of failed) {
    const reason = message.replaceAll(uuid, "UUID");
    const uuids = reasons.get(reason);
    if (uuids) uuids.push(uuid);
    else reasons.set(reason, [uuid]);
  }
  return [...reasons].flatMap(([reason, uuids]) => {
    const told = uuids.length === 1 ? reason.replaceAll("UUID", uuids[0]!) : reason;
    return [
      ...some(uuids, (uuid) => `${paint.red("✗")} ${uuid}`),
      `    ${wrapped(safe(told), columns, "    ")}`,
    ];
  });
}

/** What to do next, each advice once. */
export function nextSteps(ids: readonly string[]): string[] {
  return [...new Set(ids.flatMap((id) => nextStep(id) ?? []))];
}

/** The first items of a list, each as text by `tell`, and how many more there are. */
export function some<Item>(items: readonly Item[], tell: (item: Item) => string): string[] {
  const told = items.slice(0, MOST_TOLD).map(tell);
  return items.length > MOST_TOLD
    ? [...told, `  … and ${items.length - MOST_TOLD} more (--json tells all)`]
    : told;
}
