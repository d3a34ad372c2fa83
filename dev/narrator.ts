import type { LedgerEntry } from "../packages/sandbox/index.ts";
import { colours } from "./colours.ts";
import { shortened } from "./story.ts";

/** How many calls of one kind are printed in full; further ones are only counted … */
const TOLD_IN_FULL = 5;
/** … until this many ms have passed without one. */
const FORGOTTEN_AFTER_MS = 2_000;

/**
 * Prints the calls as they happen. Of many calls of one kind within a short time (pages, a burst of refreshes) only the
 * first are printed; the number of the others is printed when they have stopped.
 */
export function createNarrator(print: (text: string) => void, tell: (entry: LedgerEntry) => string) {
  const kinds = new Map<string, { count: number; timer: NodeJS.Timeout }>();

  function end(kind: string): void {
    const more = (kinds.get(kind)?.count ?? 0) - TOLD_IN_FULL;
    kinds.delete(kind);
    if (more > 0) print(colours.dim(`          … and ${more} more like it: ${kind}`));
  }

  return {
    print,
    call(entry: LedgerEntry): void {
      const kind = kindOf(entry);
      const seen = kinds.get(kind);
      clearTimeout(seen?.timer);
      const count = (seen?.count ?? 0) + 1;
      kinds.set(kind, { count, timer: setTimeout(() => end(kind), FORGOTTEN_AFTER_MS).unref() });
      if (count <= TOLD_IN_FULL) print(tell(entry));
    },
    /** Prints the counts that are pending. */
    close(): void {
      for (const [kind, { timer }] of kinds) {
        clearTimeout(timer);
        end(kind);
      }
    },
  };
}

function kindOf({ method, path, response }: LedgerEntry): string {
  return `${method} ${shortened(path)
    .split("?")[0]!
    .replace(/[0-9a-f]{8}…/g, "…")} ${response?.status ?? "no answer"}`;
}
