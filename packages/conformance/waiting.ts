const FIRST_AFTER_MS = 5_000;
const THEN_EVERY_MS = 10_000;

/** What is waited for, for the middle of a sentence, and for how long. */
export interface Wait {
  what: string;
  ms: number;
}

/** Says on standard error what the checker waits for, after 5 s and then every 10, so that it is not taken for stuck. */
export type Waiting = ReturnType<typeof createWaiting>;

export function createWaiting() {
  let current: () => Wait | null = () => null;
  let tell: (sentence: string) => void = (sentence) => console.error(sentence);
  let toldAt = -Infinity;
  const timer = setInterval(() => {
    const wait = current();
    if (!wait || wait.ms < FIRST_AFTER_MS || performance.now() - toldAt < THEN_EVERY_MS - 500) return;
    toldAt = performance.now();
    tell(`Waiting for ${wait.what}, for ${Math.floor(wait.ms / 1000)} s now.`);
  }, 1_000).unref();

  return {
    /** Names this while the promise is pending. */
    async during<Result>(what: string, work: Promise<Result>): Promise<Result> {
      const since = performance.now();
      const own = () => ({ what, ms: performance.now() - since });
      current = own;
      return work.finally(() => {
        if (current === own) current = () => null;
      });
    },
    /** Names from now on what this returns. */
    for(look: () => Wait | null): void {
      current = look;
    },
    /** Says it from now on in this way. */
    tellBy(way: (sentence: string) => void): void {
      tell = way;
    },
    end: () => clearInterval(timer),
  };
}
