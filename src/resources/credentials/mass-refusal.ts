import { statement, type Queryable, type Statement } from "../../database/database.ts";

// One that is refused and not given up counts however long ago it began: the platform's trouble may last. Both are asked
// for while thousands are refused, so both read a bounded part: the index of what fails, to the end of patience, and of
// all pairs just enough to see whether those are a small share.
const countRefused = statement(
  "count_refused",
  `SELECT count(*)::int AS count FROM (
     (SELECT 1 FROM credentials WHERE state = 'active' AND rejected_at IS NOT NULL LIMIT $1::int)
     UNION ALL
     (SELECT 1 FROM credentials WHERE state = 'needs_reauth' AND rejected_at > now() - interval '10 minutes' LIMIT $1::int)
   ) refused`,
);
const countPairs = statement(
  "count_pairs",
  `SELECT count(*)::int AS count FROM (SELECT 1 FROM credentials WHERE state IN ('active', 'needs_reauth') LIMIT $1::int) few`,
);

/** More than this share refused at once is the platform's trouble, not so many lost customers. */
const SHARE = 0.05;
/** Below this many refusals a share says nothing. */
const LEAST = 5;
/** So many at once are trouble whatever their share, for of millions only a few percent fall due within the time looked at. */
const MOST = 10_000;
/**
 * Tokens fall due over hours: of a platform that refuses everybody, ten minutes show less than that share. So the latest
 * answers to a process's own calls are looked at too: hardly ever is one of a hundred a refusal.
 */
const LATEST = 20;
const SHARE_OF_LATEST = 0.25;
const WITHIN_MS = 3_600_000;

/**
 * What is refused at once, of a process's latest answers or of all tokens; of these `refused` is counted to twice
 * {@link MOST}, and `all` as far as is needed to tell.
 */
export interface Wave {
  refused: number;
  all: number;
}

export interface MassRefusal {
  /** A refresh was answered: with tokens, or with the first refusal of a token. */
  saw(isRefused: boolean): void;
  /** Whether so many refresh tokens are refused at once that it must be the platform's trouble; null: it is not so. */
  wave(): Promise<Wave | null>;
}

/** How many token pairs the platform refuses (or refused for good within ten minutes), and how many there are. */
export interface TokenCounts {
  /** Of each of the two, counted to `most`. */
  refused(most: number): Promise<number>;
  /** Counted to `most`. */
  all(most: number): Promise<number>;
}

export function createTokenCounts(db: Queryable): TokenCounts {
  const counted = (what: Statement) => async (most: number) =>
    (await db.query<{ count: number }>(what, [most]))[0]!.count;
  return { refused: counted(countRefused), all: counted(countPairs) };
}

/** `now` is a monotonic clock in milliseconds. */
export function createMassRefusal(
  counts: TokenCounts,
  now: () => number = () => performance.now(),
): MassRefusal {
  let answers: { at: number; isRefused: boolean }[] = [];
  let looking: Promise<Wave | null> | null = null;

  function amongLatest(): Wave | null {
    answers = answers.filter(({ at }) => now() - at < WITHIN_MS);
    const refused = answers.filter(({ isRefused }) => isRefused).length;
    const isWave = refused >= LEAST && refused > answers.length * SHARE_OF_LATEST;
    return isWave ? { refused, all: answers.length } : null;
  }

  async function amongAll(): Promise<Wave | null> {
    const refused = await counts.refused(MOST + 1);
    if (refused < LEAST) return null;
    const all = await counts.all(Math.ceil(Math.min(refused, MOST) / SHARE));
    return refused > MOST || refused > all * SHARE ? { refused, all } : null;
  }

  return {
    saw(isRefused) {
      answers = [...answers, { at: now(), isRefused }].slice(-LATEST);
    },
    // One look at a time serves all who ask meanwhile: the second refusal, which is the one that counts, comes a minute
    // after the first, so what it began with has all that matters.
    wave: async () => amongLatest() ?? (looking ??= amongAll().finally(() => (looking = null))),
  };
}
