import type { CredentialStore } from "./store.ts";

/** More than this share refused at once is the platform's trouble, not so many lost customers. */
const SHARE = 0.05;
/** Below this many refusals a share says nothing. */
const LEAST = 5;
/** So many at once are trouble whatever their share, for of millions only a few percent fall due within the time looked at. */
const MOST = 10_000;

/** What is refused at once; `refused` is counted to twice {@link MOST}, and `all` as far as is needed to tell. */
export interface Wave {
  refused: number;
  all: number;
}

/** Whether so many refresh tokens are refused at once that it must be the platform's trouble: how many; null: it is not so. */
export function createMassRefusal({
  countRefused,
  countPairs,
}: Pick<CredentialStore, "countRefused" | "countPairs">): () => Promise<Wave | null> {
  let looking: Promise<Wave | null> | null = null;

  async function look(): Promise<Wave | null> {
    const refused = await countRefused(MOST + 1);
    if (refused < LEAST) return null;
    const all = await countPairs(Math.ceil(Math.min(refused, MOST) / SHARE));
    return refused > MOST || refused > all * SHARE ? { refused, all } : null;
  }

  // One look at a time serves all who ask meanwhile: the second refusal, which is the one that counts, comes a minute after
  // the first, so what it began with has all that matters.
  return () => (looking ??= look().finally(() => (looking = null)));
}
