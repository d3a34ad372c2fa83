import { statement, type Queryable, type Statement } from "../database/database.ts";

// A refused token that is not given up counts however long ago that began: the platform's trouble may last. Both counts
// run while thousands of tokens are refused, so both read a bounded part: the refused ones up to a limit, and of all
// pairs just enough to see whether the refused are a small share.
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

/** More than this share refused at once is the platform's trouble, not the loss of so many customers. */
const SHARE = 0.05;
/** With fewer refusals than this, the share says nothing. */
const LEAST = 5;
/**
 * More refusals than this at once are trouble whatever their share: of millions of tokens, only a few percent fall due
 * within the time looked at.
 */
const MOST = 10_000;
/**
 * Tokens fall due over hours: even a platform that refuses every token shows less than {@link SHARE} in ten minutes. So
 * the latest answers to this process's own calls are judged too, as many as this: normally hardly one of a hundred is a
 * refusal.
 */
const LATEST = 20;
const SHARE_OF_LATEST = 0.25;
const WITHIN_MS = 3_600_000;

/**
 * How many tokens are refused at once, of a process's latest answers or of all tokens. Of all tokens, `refused` is
 * counted to about twice {@link MOST}, and `all` as far as needed to tell.
 */
export interface Wave {
  refused: number;
  all: number;
}

export interface MassRefusal {
  /** Reports the answer to a refresh: tokens, or the first refusal of a token. */
  saw(isRefused: boolean): void;
  /** The refusals, if so many refresh tokens are refused at once that it must be the platform's trouble; else null. */
  wave(): Promise<Wave | null>;
}

/** How many token pairs the platform refuses (or refused for good within ten minutes), and how many there are. */
export interface TokenCounts {
  /** Each of the two kinds is counted up to `most`, so the sum may be twice that. */
  refused(most: number): Promise<number>;
  /** Counted up to `most`. */
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
    // Callers that ask during a count share its result. A token is given up only at its second refusal, a minute after
    // the first, so a count begun a moment before includes all first refusals that matter.
    wave: async () => amongLatest() ?? (looking ??= amongAll().finally(() => (looking = null))),
  };
}
