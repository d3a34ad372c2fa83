import type { GrantsWaiting } from "./queue.ts";

// What a kill may cost. Tokens that the platform has issued and that are not stored yet exist in one process's memory
// alone, and those of a grant cannot be had again. So a lane is one grant from before its call until its tokens are
// stored (or its failure is), and there are as few lanes as the grants that wait allow. While the database stores
// nothing, no lane gets free, and no new code is spent.

/** These are enough for what a process gets on most days: a kill loses at most so many. */
const LEAST = 4;
/** Of a large backlog one grant in so many may be under way, so that a storm of installs is worked off quickly. */
const ONE_IN = 100;
/** The lanes are enough to exchange each grant in this share of the time that it has left; the rest is for trouble. */
const SHARE_OF_TIME = 0.5;
/** What one exchange is thought to take before the first has ended. */
const FIRST_GUESS_SECONDS = 1;
/** How much of its distance to the newest duration the mean moves. */
const WEIGHT = 0.2;
const LOOK_EVERY_SECONDS = 1;
/** Of the lanes of a storm at least this share stays at each look, so that its end is not worked off slowly. */
const KEPT = 0.9;

/** The lanes of one process: never more than `most`, and few as long as `look` finds that the deadlines allow it. */
export function createExchangeLanes(most: number, look: () => Promise<GrantsWaiting>) {
  let lanes = Math.min(LEAST, most);
  let meanSeconds = FIRST_GUESS_SECONDS;
  let lookedAtMs = -Infinity;
  /** When the exchanges under way began, one for each lane in use. */
  const begun = new Map<symbol, number>();
  const line: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;

  const sinceSeconds = (ms: number) => (performance.now() - ms) / 1_000;

  /** By those that have ended, or by those under way, if they take longer. */
  function secondsEach(): number {
    const ages = [...begun.values()].map(sinceSeconds);
    return Math.max(meanSeconds, ages.reduce((sum, age) => sum + age, 0) / Math.max(ages.length, 1));
  }

  /** Adapts the number of lanes to the grants that wait, at most once a second. */
  async function adapt(): Promise<void> {
    if (sinceSeconds(lookedAtMs) < LOOK_EVERY_SECONDS) return;
    lookedAtMs = performance.now();
    const asked = lanesFor(await look(), secondsEach(), most);
    lanes = Math.max(asked, Math.floor(lanes * KEPT));
    letIn();
  }

  function letIn(): void {
    while (begun.size < lanes && line.length > 0) line.shift()!();
    // While all lanes hang, nothing is claimed, and nobody else asks for more.
    if (line.length > 0) timer ??= setTimeout(adaptLater, LOOK_EVERY_SECONDS * 1_000).unref();
  }

  function adaptLater(): void {
    timer = undefined;
    void adapt().then(letIn, letIn);
  }

  return {
    count: () => lanes,
    adapt,

    /** Does `exchange`, from its call to the storing of what comes of it, as soon as a lane is free. */
    async run<Result>(exchange: () => Promise<Result>): Promise<Result> {
      const lane = Symbol();
      await new Promise<void>((goOn) => {
        line.push(() => {
          begun.set(lane, performance.now());
          goOn();
        });
        letIn();
      });
      try {
        return await exchange();
      } finally {
        meanSeconds += WEIGHT * (sinceSeconds(begun.get(lane)!) - meanSeconds);
        begun.delete(lane);
        letIn();
      }
    },
  };
}

/** `secondsEach`: what one exchange takes, its storing included. */
export function lanesFor({ waiting, perSecond }: GrantsWaiting, secondsEach: number, most: number): number {
  const forDeadlines = (perSecond * secondsEach) / SHARE_OF_TIME;
  return Math.min(most, Math.ceil(Math.max(LEAST, waiting / ONE_IN, forDeadlines)));
}
