import type { Bench } from "../bench.ts";
import { checkTokens } from "../books.ts";
import { contest, median, type Sample } from "../contest.ts";
import { drain, EAGER } from "../drain.ts";
import { seedTokens } from "../seed.ts";
import type { Work } from "./work.ts";

const SLOW_MS = 50;
const MANY = 256;
/** What `TOKEN_CONCURRENCY` is unless set. */
const STANDARD = 64;

/** A worker process and token pairs for it to refresh, as often as asked; at the end each stored pair is opened. */
async function withSweep<Result>(
  bench: Bench,
  atOnce: number,
  use: (sweep: () => Promise<Sample>, count: number) => Promise<Result>,
): Promise<Result> {
  const database = await bench.databases.create();
  const uuids = await seedTokens(database, bench.options.quick ? 6_000 : 20_000);
  const settings = bench.settingsFor(database, { ...EAGER, TOKEN_CONCURRENCY: String(atOnce) });
  const worker = await bench.startService("worker", settings);
  let sweeps = 0;
  const sweep = async () => {
    sweeps += 1;
    return drain(bench, database, [worker], uuids);
  };
  await sweep();
  const result = await use(sweep, uuids.length);
  await bench.end(worker);
  await checkTokens(database, uuids, 1 + sweeps);
  await database.drop();
  return result;
}

/** A token endpoint as slow as one far away, against what its slowness allows: so many calls at once, each 50 ms. */
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
        target: { atLeast: 0.7 },
        sample: {
          cpuMicros: figure((sample) => sample.cpuMicros),
          memoryMb: figure((sample) => sample.memoryMb),
        },
      },
    ];
  },
};

/** A token endpoint that answers at once, against the same calls with nothing around them. */
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
