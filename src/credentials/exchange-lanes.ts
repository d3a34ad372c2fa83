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
const LOOK_EVERY_MS = 1_000;
/** Of the lanes of a storm at least this share stays at each look, so that its end is not worked off slowly. */
const KEPT = 0.9;

/** The lanes of one process: never more than `most`, and few as long as `look` finds that the deadlines allow it. */
export function createExchangeLanes(most: number, look: () => Promise<GrantsWaiting>) {
  let lanes = Math.min(LEAST, most);
  let busy = 0;
  let secondsEach = FIRST_GUESS_SECONDS;
  let lookedAtMs = -Infinity;
  const line: (() => void)[] = [];

  function letIn(): void {
    for (; busy < lanes && line.length > 0; busy += 1) line.shift()!();
  }

  return {
    count: () => lanes,

    /** Adapts the number of lanes to the grants that wait, at most once a second. */
    async adapt(): Promise<void> {
      if (performance.now() - lookedAtMs < LOOK_EVERY_MS) return;
      lookedAtMs = performance.now();
      const asked = lanesFor(await look(), secondsEach, most);
      lanes = Math.max(asked, Math.floor(lanes * KEPT));
      letIn();
    },

    /** Does `exchange`, from its call to the storing of what comes of it, as soon as a lane is free. */
    async run<Result>(exchange: () => Promise<Result>): Promise<Result> {
      await new Promise<void>((goOn) => {
        line.push(goOn);
        letIn();
      });
      const begunMs = performance.now();
      try {
        return await exchange();
      } finally {
        secondsEach += WEIGHT * ((performance.now() - begunMs) / 1_000 - secondsEach);
        busy -= 1;
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
