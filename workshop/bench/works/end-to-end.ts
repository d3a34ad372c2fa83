import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "../bench.ts";
import { checkTokens, Missing } from "../books.ts";
import { contest, measureLoad } from "../contest.ts";
import type { Database } from "../databases.ts";
import { cpuMicrosOf, mostMemoryMbOf } from "../proc.ts";
import type { Program } from "../program.ts";
import { provisions } from "../provisions.ts";
import type { Work } from "./work.ts";

// Measures from the first request to the last stored token pair. The twin exchanges in the process that answered, and
// never tries again. The service exchanges from its durable queue, no sooner than a second after the commit. That second
// counts against it, once in each round; a round is long enough to be one of throughput. What else a provision needs
// gives way to grants for a minute, which is longer than a round; it is dropped after each of these rounds, and measured
// in a round of its own, until everything is done. The last line is the peak memory of the process: no other work needs
// more.

const CONNECTIONS = 32;
const LONGEST_MS = 300_000;
const PLAN = { plan: "dedicated", status: 202 } as const;

export const endToEnd: Work = {
  name: "end-to-end",
  async measure(bench) {
    await bench.platform.tell({ tokenMs: 0 });
    const { quick } = bench.options;
    const [twinDatabase, database] = [await bench.databases.create(), await bench.databases.create()];
    const twin = await bench.startFloor("plain-twin", bench.settingsFor(twinDatabase, { EXCHANGE: "on" }));
    const service = await bench.startService("web", bench.settingsFor(database));
    const [asked, twinAsked] = [provisions(PLAN), provisions(PLAN)];
    const before = await bench.platform.tell();

    const theirs = contestant(bench, twinDatabase, twin, twinAsked);
    const ours = contestant(bench, database, service, asked);
    const { floor, subject, ratio } = await contest(
      { round: async () => (await theirs.begin(quick ? 300 : 2_000)).untilTokens },
      {
        async round() {
          const { untilTokens } = await ours.begin(quick ? 10_000 : 60_000);
          await ours.dropTheRest();
          return untilTokens;
        },
      },
      quick ? 2 : 4,
    );
    const { untilAllIsDone } = await ours.begin(quick ? 2_500 : 10_000);
    const done = await untilAllIsDone();
    const memoryMb = mostMemoryMbOf(service.pid);
    await Promise.all([twin.kill(), service.kill()]);
    await checkTokens(database, asked.uuids, 1);
    const exchanged = (await bench.platform.tell()).exchanged - before.exchanged;
    if (exchanged !== asked.uuids.length + twinAsked.uuids.length)
      throw new Missing(`${exchanged} exchanges for ${asked.uuids.length + twinAsked.uuids.length} grants`);
    await Promise.all([database.drop(), twinDatabase.drop()]);
    return [
      {
        work: "provision to stored token pair",
        unit: "/s",
        floor: { name: "plain-twin", value: floor.perSecond },
        subject: subject.perSecond,
        ratio,
        target: { atLeast: 15 },
        sample: subject,
      },
      {
        work: "provision to everything done: apps found, config vars set",
        unit: "/s",
        floor: null,
        subject: done.perSecond,
        ratio: null,
        target: {},
        sample: { cpuMicros: done.cpuMicros },
      },
      {
        ...{ work: "memory, most while all that is done", unit: "MB", floor: null, subject: memoryMb },
        ...{ ratio: null, target: { atMost: 180 } },
      },
    ];
  },
};

function contestant(
  { platform }: Bench,
  { ask }: Database,
  program: Program,
  traffic: ReturnType<typeof provisions>,
) {
  const until = async (isSo: () => Promise<boolean>, everyMs: number) => {
    const latest = performance.now() + LONGEST_MS;
    while (!(await isSo())) {
      if (performance.now() > latest)
        throw new Missing(`not all that ${traffic.uuids.length} provisions need was done in five minutes`);
      await sleep(everyMs);
    }
  };
  const rows = async (text: string) =>
    (await ask<{ rows: number }>(`SELECT count(*)::int AS rows ${text}`))[0]!.rows;
  return {
    /** Sends `count` provisions, and resolves when their tokens are stored. */
    async begin(count: number) {
      const { exchanged: before } = await platform.tell();
      const [startedAt, cpu] = [performance.now(), cpuMicrosOf(program.pid)];
      const sample = await measureLoad(program, traffic, {
        connections: CONNECTIONS,
        forMs: LONGEST_MS,
        most: count,
      });
      // Until the platform has received all calls, the database is not worth a query.
      await until(async () => (await platform.tell()).exchanged - before >= count, 10);
      await until(
        async () => (await rows(`FROM credentials WHERE state = 'active'`)) >= traffic.uuids.length,
        10,
      );
      const soFar = () => ({
        perSecond: count / ((performance.now() - startedAt) / 1_000),
        cpuMicros: (cpuMicrosOf(program.pid) - cpu) / count,
      });
      return {
        untilTokens: { ...sample, ...soFar() },
        async untilAllIsDone() {
          await until(async () => (await rows(`FROM steps`)) === 0, 100);
          return soFar();
        },
      };
    },
    /** Drops the steps that are left, which would disturb the next round; what is under way may add some more. */
    dropTheRest: () =>
      until(async () => {
        await ask(`TRUNCATE steps`);
        await sleep(500);
        return (await rows(`FROM steps`)) === 0;
      }, 0),
  };
}
