import type { Bench } from "../bench.ts";
import { checkTokens } from "../books.ts";
import { contest, median, type Sample } from "../contest.ts";
import { drain, EAGER } from "../drain.ts";
import { seedTokens } from "../seed.ts";
import type { Work } from "./work.ts";

const SLOW_MS = 50;
const MANY = 256;
/** The default of `TOKEN_CONCURRENCY`. */
const STANDARD = 64;

/**
 * Gives `use` a worker process that refreshes all token pairs on each call of `sweep`; at the end each stored pair is
 * opened.
 */
async function withSweep<Result>(
  bench: Bench,
  atOnce: number,
  use: (sweep: () => Promise<Sample>, count: number) => Promise<Result>,
): Promise<Result> {
  const database = await bench.databases.create();
  const uuids = await seedTokens(database, bench.rows(6_000, 20_000));
  const settings = bench.settingsFor(database, { ...EAGER, TOKEN_CONCURRENCY: String(atOnce) });
  const worker = await bench.startService("worker", settings);
  let sweeps = 0;
  const sweep = async () => {
    sweeps += 1;
    return drain(bench, database, [worker], uuids);
  };
  await sweep();
  const result = await use(sweep, uuids.length);
  await worker.kill();
  await checkTokens(database, uuids, 1 + sweeps);
  await database.drop();
  return result;
}

/**
 * A token endpoint with the latency of a distant one, against the limit that this latency sets: 256 calls at once, 50
 * ms each.
 */
export const refreshSlow: Work = {
  name: "refresh-50ms",
  async measure(bench) {
    await bench.platform.tell({ tokenMs: SLOW_MS });
    const samples = await withSweep(bench, MANY, async (sweep) => {
      const all: Sample[] = [];
      for (let round = 0; round < (bench.options.quick ? 2 : 5); round++) all.push(await sweep());
      return all;
    });
    const limit = MANY / (SLOW_MS / 1_000);
    const figure = (of: (sample: Sample) => number) => median(samples.map(of));
    const perSecond = figure((sample) => sample.perSecond);
    return [
      {
        work: `refresh, endpoint at ${SLOW_MS} ms, ${MANY} in flight`,
        unit: "tokens/s",
        floor: { name: "limit", value: limit },
        subject: perSecond,
        ratio: perSecond / limit,
        target: { atLeast: 0.9 },
        sample: {
          cpuMicros: figure((sample) => sample.cpuMicros),
          memoryMb: figure((sample) => sample.memoryMb),
        },
      },
    ];
  },
};

/** A token endpoint that answers at once, against the same calls without anything else. */
export const refreshFast: Work = {
  name: "refresh-0ms",
  async measure(bench) {
    await bench.platform.tell({ tokenMs: 0 });
    const { floor, subject, ratio } = await withSweep(bench, STANDARD, (sweep, count) => {
      const settings = bench.settingsFor({ url: "" }, { COUNT: String(count), AT_ONCE: String(STANDARD) });
      const httpOnly = { round: () => bench.runFloor<Sample>("http-only", settings) };
      return contest(httpOnly, { round: sweep }, bench.options.quick ? 2 : 5);
    });
    return [
      {
        work: `refresh, endpoint answers at once, ${STANDARD} in flight`,
        unit: "tokens/s",
        floor: { name: "http-only", value: floor.perSecond },
        subject: subject.perSecond,
        ratio,
        target: { atLeast: 0.6 },
        sample: subject,
      },
    ];
  },
};
