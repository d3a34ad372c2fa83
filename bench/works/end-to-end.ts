import type { Bench } from "../bench.ts";
import { checkTokens, Missing } from "../books.ts";
import { contest, measureLoad, median, type Contestant, type Sample } from "../contest.ts";
import type { Database } from "../databases.ts";
import { cpuMicrosOf, mostMemoryMbOf } from "../proc.ts";
import type { Program } from "../program.ts";
import { provisions } from "../provisions.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { Work } from "./work.ts";

// Measures from the first request to the last stored token pair. The twin exchanges in the process that answered, and
// stores nothing for a retry. The service exchanges from its durable queue, no sooner than a second after the commit,
// which counts against it; so does the rest of its work meanwhile: it asks for the apps, finishes, and sets config
// vars. Grants have priority over that rest; a line of its own says when it is done too. The last line is the peak
// memory of the process: no other work needs more.

const CONNECTIONS = 32;
const LONGEST_MS = 120_000;

export const endToEnd: Work = {
  name: "end-to-end",
  async measure(bench) {
    await bench.platform.tell({ tokenMs: 0 });
    const { quick } = bench.options;
    const [twinDatabase, database] = [await bench.databases.create(), await bench.databases.create()];
    const twin = await bench.startFloor("plain-twin", bench.settingsFor(twinDatabase, { EXCHANGE: "on" }));
    const service = await bench.startService("web", bench.settingsFor(database));
    const [asked, twinAsked] = [
      provisions({ plan: "dedicated", status: 202 }),
      provisions({ plan: "dedicated", status: 202 }),
    ];
    const before = await bench.platform.tell();

    const untilAllIsDone: Pick<Sample, "perSecond" | "cpuMicros">[] = [];
    const outcome = await contest(
      contestant(bench, twinDatabase, twin, twinAsked, quick ? 300 : 2_000),
      contestant(bench, database, service, asked, quick ? 2_500 : 20_000, untilAllIsDone),
      quick ? 2 : 4,
    );
    const memoryMb = mostMemoryMbOf(service.pid);
    await Promise.all([twin.kill(), bench.end(service)]);
    await checkTokens(database, asked.uuids, 1);
    const exchanged = (await bench.platform.tell()).exchanged - before.exchanged;
    if (exchanged !== asked.uuids.length + twinAsked.uuids.length)
      throw new Missing(`${exchanged} exchanges for ${asked.uuids.length + twinAsked.uuids.length} grants`);
    await Promise.all([database.drop(), twinDatabase.drop()]);
    return [
      {
        work: "provision to stored token pair",
        unit: "/s",
        floor: { name: "plain-twin", value: outcome.floor.perSecond },
        subject: outcome.subject.perSecond,
        ratio: outcome.ratio,
        target: { atLeast: 10 },
        sample: outcome.subject,
      },
      {
        work: "provision to everything done: apps found, config vars set",
        unit: "/s",
        floor: null,
        subject: median(untilAllIsDone.map(({ perSecond }) => perSecond)),
        ratio: null,
        target: {},
        sample: { cpuMicros: median(untilAllIsDone.map(({ cpuMicros }) => cpuMicros)) },
      },
      {
        ...{ work: "memory, most while all that is done", unit: "MB", floor: null, subject: memoryMb },
        ...{ ratio: null, target: { atMost: 200 } },
      },
    ];
  },
};

function contestant(
  { platform }: Bench,
  { ask }: Database,
  program: Program,
  traffic: ReturnType<typeof provisions>,
  count: number,
  untilAllIsDone: Pick<Sample, "perSecond" | "cpuMicros">[] = [],
): Contestant {
  const until = async (isSo: () => Promise<boolean>, everyMs: number) => {
    const latest = performance.now() + LONGEST_MS;
    while (!(await isSo())) {
      if (performance.now() > latest)
        throw new Missing(`not all that ${traffic.uuids.length} provisions need was done in two minutes`);
      await sleep(everyMs);
    }
  };
  const rows = async (text: string) =>
    (await ask<{ rows: number }>(`SELECT count(*)::int AS rows ${text}`))[0]!.rows;
  return {
    async round(): Promise<Sample> {
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
      const untilTokens = soFar();
      await until(async () => (await rows(`FROM steps`)) === 0, 100);
      untilAllIsDone.push(soFar());
      return { ...sample, ...untilTokens };
    },
  };
}
