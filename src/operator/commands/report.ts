import { UsedWrongly, typedUuid } from "../errors.ts";
import type { TokenReport } from "../tokens.ts";
import type { Screen } from "./host.ts";
import { DONE, FAILED, nextStep, type Outcome } from "./outcome.ts";
import { safe, wrapped } from "./text.ts";

/** At most this many items of a list are shown; --json has all. */
const MOST_TOLD = 20;

/** The uuids of the named resources in canonical form, or "all". Throws `UsedWrongly` if both are given, or neither. */
export function namesOrAll(typed: readonly string[], { all = false }: { all?: boolean }): string[] | "all" {
  if (all === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
  return all ? "all" : typed.map(typedUuid);
}

/** The outcome of work on many resources; `doneWord` names the success. */
export function bulkOutcome(report: TokenReport, doneWord: string): Outcome {
  const { done, failed, left = 0 } = report;
  return {
    data: report,
    exitCode: failed.length + left > 0 ? FAILED : DONE,
    show: (screen) => bulkText(screen, report, `${done.length} ${doneWord}`),
  };
}

/** The failed resources, grouped by reason, the skipped ones, the counts after `counts`, and what to do next. */
export function bulkText(
  screen: Screen,
  { failed, skipped }: Pick<TokenReport, "failed" | "skipped">,
  counts: string,
): string {
  const { columns, paint } = screen;
  const next = [...failed.map(({ id }) => id), ...skipped.map(({ reason }) => reason)].map((id) =>
    nextStep(id),
  );
  return [
    ...failures(screen, failed),
    ...some(skipped, ({ uuid, reason }) => `${paint.yellow("–")} ${uuid}  skipped: ${reason}`),
    `${counts}, ${failed.length} failed, ${skipped.length} skipped.`,
    ...[...new Set(next)].flatMap((each) => (each === null ? [] : [paint.dim(wrapped(each, columns))])),
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
  return [...reasons].flatMap(([reason, uuids]) => [
    ...some(uuids, (uuid) => `${paint.red("✗")} ${uuid}`),
    `    ${wrapped(safe(uuids.length === 1 ? reason.replaceAll("UUID", uuids[0]!) : reason), columns, "    ")}`,
  ]);
}

/** The first items of a list, each as text by `tell`, and how many more there are. */
export function some<Item>(items: readonly Item[], tell: (item: Item) => string): string[] {
  const more = items.length - MOST_TOLD;
  const end = more > 0 ? [`  … and ${more} more (--json tells all)`] : [];
  return [...items.slice(0, MOST_TOLD).map(tell), ...end];
}
