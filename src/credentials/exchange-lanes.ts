import type { GrantsWaiting } from "./queue.ts";

// Limits how many grants a killed process can lose. Tokens that the platform has issued and the database has not stored
// exist only in the memory of one process, and the platform does not issue the tokens of a grant twice. A lane is occupied
// by one grant from its call until its tokens or its failure are stored. There are only as many lanes as the deadlines of
// the waiting grants require. While the database is unreachable, all lanes stay occupied and no further code is used.

/** The number of lanes on most days, and so the number of grants that a kill can lose. */
const LEAST = 4;
/** One lane for so many waiting grants, so that a large backlog is worked off quickly. */
const GRANTS_PER_LANE = 100;
/** The lanes suffice to exchange each grant in this share of its remaining time. The rest is a reserve. */
const SHARE_OF_TIME = 0.5;
/** The assumed duration of an exchange before the first has ended. */
const FIRST_GUESS_SECONDS = 1;
/** The weight of the newest duration in the moving mean. */
const WEIGHT = 0.2;
const ADAPT_EVERY_SECONDS = 1;
/** The number of lanes falls at most to this share at each adaptation, so that the end of a backlog is not slow. */
const KEPT = 0.9;

/** The lanes of one process, at most `most`. `countWaiting` returns the grants that wait, and their urgency. */
export function createExchangeLanes(most: number, countWaiting: () => Promise<GrantsWaiting>) {
  let lanes = Math.min(LEAST, most);
  let meanSeconds = FIRST_GUESS_SECONDS;
  let adaptedAtMs = -Infinity;
  /** When the exchanges under way began, one for each lane in use. */
  const begun = new Map<symbol, number>();
  const line: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  const sinceSeconds = (ms: number) => (performance.now() - ms) / 1_000;

  /** The mean duration of the ended exchanges, or the mean age of the running ones if that is longer. */
  function secondsEach(): number {
    const ages = [...begun.values()].map(sinceSeconds);
    return Math.max(meanSeconds, ages.reduce((sum, age) => sum + age, 0) / Math.max(ages.length, 1));
  }

  /** Adapts the number of lanes to the waiting grants, at most once a second. */
  async function adapt(): Promise<void> {
    if (sinceSeconds(adaptedAtMs) < ADAPT_EVERY_SECONDS) return;
    adaptedAtMs = performance.now();
    const needed = lanesFor(await countWaiting(), secondsEach(), most);
    lanes = Math.max(needed, Math.floor(lanes * KEPT));
    startWaiting();
  }

  function startWaiting(): void {
    while (begun.size < lanes && line.length > 0) line.shift()!();
    // While all lanes hang, no grant is claimed, so no claim calls `adapt`.
    if (line.length > 0) timer ??= setTimeout(adaptLater, ADAPT_EVERY_SECONDS * 1_000).unref();
  }

  function adaptLater(): void {
    timer = undefined;
    void adapt().then(startWaiting, startWaiting);
  }

  return {
    count: () => lanes,
    adapt,

    /** Runs `exchange`, which ends when its result is stored, as soon as a lane is free. */
    async run<Result>(exchange: () => Promise<Result>): Promise<Result> {
      const lane = Symbol();
      await new Promise<void>((resolve) => {
        line.push(() => {
          begun.set(lane, performance.now());
          resolve();
        });
        startWaiting();
      });
      try {
        return await exchange();
      } finally {
        meanSeconds += WEIGHT * (sinceSeconds(begun.get(lane)!) - meanSeconds);
        begun.delete(lane);
        startWaiting();
      }
    },
  };
}

/** The number of lanes that is needed. `secondsEach`: the duration of one exchange, including storing its result. */
export function lanesFor({ waiting, perSecond }: GrantsWaiting, secondsEach: number, most: number): number {
  const forDeadlines = (perSecond * secondsEach) / SHARE_OF_TIME;
  return Math.min(most, Math.ceil(Math.max(LEAST, waiting / GRANTS_PER_LANE, forDeadlines)));
}
