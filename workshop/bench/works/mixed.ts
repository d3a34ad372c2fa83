import { setTimeout as sleep } from "node:timers/promises";
import { ENCRYPTION_KEY, OTHER_KEY } from "../bench.ts";
import { checkProvisions, checkTokens, Missing } from "../books.ts";
import { measureLoad, median } from "../contest.ts";
import { drain, EAGER } from "../drain.ts";
import type { End } from "../program.ts";
import { provisions } from "../provisions.ts";
import { seedTokens } from "../seed.ts";
import type { Line, Work } from "./work.ts";

// The p99 latency of provisions in a process that does everything else too: 200 a second arrive, however long the
// earlier ones take, and each is exchanged and finished meanwhile. Commands run as if on another machine.

const CALM = { connections: 20, everyMs: 100 };
const TOKEN_MS = 50;
const LONGEST_MS = 150_000;
/** With the lowest priority, on a processor that the load and the database share. */
const LONGEST_RUN_MS = 120_000;

export const mixed: Work = {
  name: "mixed",
  async measure(bench) {
    const { quick } = bench.options;
    const forMs = bench.options.roundMs * (quick ? 2 : 5);
    const refreshes = bench.rows(3_000, 10_000);
    const database = await bench.databases.create();
    const due = await seedTokens(database, refreshes);
    const settings = bench.settingsFor(database, { ...EAGER, DECRYPTION_KEYS: OTHER_KEY });
    await bench.platform.tell({ tokenMs: TOKEN_MS });
    const web = await bench.startService("web", settings);
    const asked = provisions({ plan: "dedicated", status: 202 });

    /** The p99 latency of provisions in ms while `beside` runs. */
    async function p99(beside: () => Promise<unknown>): Promise<number> {
      const over = new AbortController();
      const load = measureLoad(web, asked, { ...CALM, forMs: LONGEST_MS, signal: over.signal });
      const [sample, event] = await Promise.allSettled([load, beside().finally(() => over.abort())]);
      if (event.status === "rejected") throw event.reason;
      if (sample.status === "rejected") throw sample.reason;
      return sample.value.p99Ms;
    }
    const keys: [string, string] = [OTHER_KEY, ENCRYPTION_KEY];
    const reseal = (leftMs: number) => {
      const [current, old] = keys;
      keys.reverse();
      const rotated = { ...settings, ENCRYPTION_KEY: current, DECRYPTION_KEYS: old };
      return bench.runKitAside("keys reseal", rotated, leftMs);
    };
    const rounds = quick ? 1 : 4;
    const kinds = {
      quiet: () => sleep(forMs),
      [`while ${refreshes.toLocaleString("en")} refreshes drain`]: () => drain(bench, database, [web], due),
      // It ends with 1 if the serving process has sealed a row with the other key meanwhile, so the output decides.
      "while everything is re-sealed": again("keys reseal", forMs, reseal, ({ said }) =>
        said.includes(`"resealed"`),
      ),
      "while an operator lists resources": again(
        "resources list",
        forMs,
        (leftMs) => bench.runKitAside("resources list", settings, leftMs),
        ({ code }) => code === 0,
      ),
    };

    const slowest: Record<string, number[]> = {};
    await p99(() => sleep(1_000));
    for (let round = 0; round < rounds; round++) {
      const all = Object.entries(kinds);
      for (const [when, beside] of round % 2 === 0 ? all : all.reverse())
        (slowest[when] ??= []).push(await p99(beside));
    }
    await web.kill();
    await checkProvisions(database, asked.uuids, 202);
    await checkTokens(database, due, 1 + rounds, [ENCRYPTION_KEY, OTHER_KEY]);
    await database.drop();
    const { quiet, ...busy } = slowest;
    return Object.entries(busy).map(([when, all]) => lineFor(when, quiet!, all));
  },
};

/**
 * Repeats a command for `forMs`, and lets it finish at least once. Throws if a run ends without having done its work.
 */
function again(
  command: string,
  forMs: number,
  run: (leftMs: number) => Promise<End | null>,
  isDone: (end: End) => boolean,
) {
  return async () => {
    const until = performance.now() + forMs;
    for (let left = LONGEST_RUN_MS; left > 0; left = until - performance.now()) {
      const end = await run(left);
      if (!end && left === LONGEST_RUN_MS) throw new Missing(`kit ${command} came to no end in two minutes`);
      if (end && !isDone(end)) throw new Missing(`kit ${command} ended with ${end.code}:\n${end.said}`);
    }
  };
}

function lineFor(when: string, quiet: readonly number[], busy: readonly number[]): Line {
  return {
    work: `p99 of a provision ${when}`,
    unit: "ms",
    floor: { name: "quiet", value: median(quiet) },
    subject: median(busy),
    ratio: median(busy.map((ms, round) => ms / quiet[round]!)),
    target: { atMost: 2 },
  };
}
