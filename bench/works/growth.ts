import type { Bench } from "../bench.ts";
import { checkProvisions, checkTokens } from "../books.ts";
import { measureLoad, type Sample } from "../contest.ts";
import { drain, EAGER } from "../drain.ts";
import { provisions } from "../provisions.ts";
import { fill, seedTokens } from "../seed.ts";
import type { Line, Work } from "./work.ts";

// The same work with more processes, and among more resources. No targets: this shows what bounds what.

const TOKEN_MS = 50;

/** Worker processes on one database, wherever the machine has time, each with as many calls in flight as it comes with. */
export const growthOfProcesses: Work = {
  name: "growth-processes",
  async measure(bench) {
    await bench.platform.tell({ tokenMs: TOKEN_MS });
    const lines: Line[] = [];
    for (const processes of bench.options.quick ? [1, 2] : [1, 2, 4]) {
      const sample = await refreshWith(bench, processes);
      const work = `refresh at ${TOKEN_MS} ms, worker processes: ${processes}`;
      lines.push(grown(work, "tokens/s", sample, lines[0], { plot: "processes", x: processes }));
    }
    return lines;
  },
};

async function refreshWith(bench: Bench, processes: number): Promise<Sample> {
  const database = await bench.databases.create();
  const uuids = await seedTokens(database, bench.options.quick ? 4_000 : 20_000);
  const settings = bench.settingsFor(database, EAGER);
  const workers = await Promise.all(
    Array.from({ length: processes }, () => bench.startService("worker", settings, "free")),
  );
  await drain(bench, database, workers, uuids.slice(0, 1_000));
  const sample = await drain(bench, database, workers, uuids.slice(1_000));
  await Promise.all(workers.map(bench.end));
  await checkTokens(database, uuids, 2);
  await database.drop();
  return sample;
}

/** One web process among more and more resources. */
export const growthOfResources: Work = {
  name: "growth-resources",
  async measure(bench) {
    const refreshes: Line[] = [];
    const answers: Line[] = [];
    for (const resources of bench.options.quick ? [10_000, 100_000] : [10_000, 100_000, 1_000_000]) {
      const { refresh, provision } = await among(bench, resources);
      const point = { plot: "resources" as const, x: resources };
      const where = `among ${resources.toLocaleString("en")}`;
      answers.push(grown(`provision answered 202 ${where}`, "req/s", provision, answers[0], point));
      refreshes.push(grown(`refresh ${where}`, "tokens/s", refresh, refreshes[0], point));
    }
    return [...answers, ...refreshes];
  },
};

async function among(bench: Bench, resources: number): Promise<{ refresh: Sample; provision: Sample }> {
  const { roundMs } = bench.options;
  const database = await bench.databases.create();
  const uuids = await seedTokens(database, 5_000);
  await fill(database, resources - uuids.length);
  await bench.platform.tell({ tokenMs: 0 });
  const web = await bench.startService("web", bench.settingsFor(database, EAGER));
  await drain(bench, database, [web], uuids.slice(0, 1_000));
  const refresh = await drain(bench, database, [web], uuids.slice(1_000));
  await checkTokens(database, uuids, 2);
  const asked = provisions({ plan: "dedicated", status: 202 });
  const round = (forMs: number) => measureLoad(web, asked, { connections: 32, forMs });
  await round(roundMs / 2);
  const provision = await round(2 * roundMs);
  await bench.end(web);
  await checkProvisions(database, asked.uuids, 202);
  await database.drop();
  return { refresh, provision };
}

/** One step of growth, beside the first one. */
function grown(
  work: string,
  unit: string,
  sample: Sample,
  first: Line | undefined,
  point: NonNullable<Line["point"]>,
): Line {
  const { perSecond } = sample;
  return {
    ...{ work, unit, point, sample, target: {}, subject: perSecond },
    floor: first ? { name: "the first", value: first.subject } : null,
    ratio: first ? perSecond / first.subject : null,
  };
}
