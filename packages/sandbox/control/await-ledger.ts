import type { Platform } from "../platform.ts";
import type { LedgerPage } from "../wire/ledger.ts";
import type { LedgerQuery } from "../wire/ledger-query.ts";

/** Reads the ledger once it has an entry that the query asks for, at the latest after `waitMs`. */
export async function awaitLedger(
  { ledger, changes, closing }: Platform,
  query: LedgerQuery,
  waitMs: number,
  signal: AbortSignal,
): Promise<LedgerPage> {
  // One is enough to know, and nothing is masked for it.
  const isThere = () => ledger.read({ ...query, limit: 1, reveal: true }).entries.length > 0;
  if (waitMs > 0 && !isThere() && !signal.aborted && !closing.aborted) {
    await new Promise<void>((resolve) => {
      const signals = [signal, closing];
      const end = () => {
        clearTimeout(timer);
        unwatch();
        for (const each of signals) each.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, waitMs);
      const unwatch = changes.watch(() => void (isThere() && end()));
      for (const each of signals) each.addEventListener("abort", end);
    });
  }
  return ledger.read(query);
}
