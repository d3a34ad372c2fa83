import type { LedgerEntry } from "../sandbox/index.ts";
import { colours } from "./colours.ts";
import { shortened } from "./story.ts";

/** So many of a kind are told in full, */
const TOLD_IN_FULL = 5;
/** unless this long passed without one; the others are counted. */
const FORGOTTEN_AFTER_MS = 2_000;

/**
 * Prints the story as it happens. Of many calls of one kind at a time (pages, a burst of refreshes) only the first are
 * told; how many more there were is said when they have stopped.
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
    /** Says what was only counted until now. */
    close(): void {
      for (const [kind, { timer }] of kinds) {
        clearTimeout(timer);
        end(kind);
      }
    },
  };
}

export type Narrator = ReturnType<typeof createNarrator>;

function kindOf({ method, path, response }: LedgerEntry): string {
  return `${method} ${shortened(path)
    .split("?")[0]!
    .replace(/[0-9a-f]{8}…/g, "…")} ${response?.status ?? "no answer"}`;
}
