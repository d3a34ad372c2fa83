import type { Bench } from "../bench.ts";
import { checkProvisions, checkTokens, Missing } from "../books.ts";
import { measureLoad, type Sample, thereAndBack } from "../contest.ts";
import type { Database } from "../databases.ts";
import { drain, EAGER } from "../drain.ts";
import { provisions } from "../provisions.ts";
import { fill, seedTokens } from "../seed.ts";
import type { Line, Work } from "./work.ts";

// The same work with more processes, and among more resources. There are no targets: this shows the bottlenecks.
// Refreshes are measured in the order A B C C B A. Provisions are measured once, because each leaves work behind that
// would run beside the next measurement.

const TOKEN_MS = 50;
/** The fewest resources, with which the others are compared. */
export const LEAST_RESOURCES = 10_000;

/** Worker processes on one database, on any processor, each with the default number of calls in flight. */
export const growthOfProcesses: Work = {
  name: "growth-processes",
  async measure(bench) {
    const { quick } = bench.options;
    await bench.platform.tell({ tokenMs: TOKEN_MS });
    const database = await bench.databases.create();
    const uuids = await seedTokens(database, bench.rows(2_500, 10_000));
    const steps = quick ? [1, 2] : [1, 2, 4];
    const samples = await thereAndBack(steps, (processes) => refreshWith(bench, database, uuids, processes));
    await checkTokens(database, uuids, 1 + 2 * steps.length);
    await database.drop();
    return steps.map((processes, i) => {
      const work = `refresh at ${TOKEN_MS} ms, worker processes: ${processes}`;
      return grown(work, "tokens/s", samples[i]!, i > 0 && samples[0]!, { plot: "processes", x: processes });
    });
  },
};

async function refreshWith(
  bench: Bench,
  database: Database,
  uuids: string[],
  processes: number,
): Promise<Sample> {
  const settings = bench.settingsFor(database, EAGER);
  const workers = await Promise.all(
    Array.from({ length: processes }, () => bench.startService("worker", settings, "free")),
  );
  await drain(bench, database, workers, uuids.slice(0, 1_000));
  const sample = await drain(bench, database, workers, uuids.slice(1_000));
  await Promise.all(workers.map((worker) => worker.kill()));
  return sample;
}

/** One web process among a growing number of resources. */
export const growthOfResources: Work = {
  name: "growth-resources",
  async measure(bench) {
    const { quick, resources: most } = bench.options;
    const sizes = most ? [LEAST_RESOURCES, most] : [LEAST_RESOURCES, 100_000, ...(quick ? [] : [1_000_000])];
    await bench.platform.tell({ tokenMs: 0 });
    const sides: Side[] = [];
    for (const resources of sizes) sides.push(await among(bench, resources));
    for (const side of sides) await side.refresh();
    const refreshes = await thereAndBack(sides, (side) => side.refresh());
    const pages: Line[] = [];
    for (const [i, side] of sides.entries())
      for (const [what, path] of Object.entries(PAGES)) {
        const { ms, isAnswered } = await side.page(path);
        const how = isAnswered ? "longest of three" : "refused as too slow";
        const work = `the operator's ${what} among ${sizes[i]!.toLocaleString("en")}, ${how}`;
        pages.push({ work, unit: "ms", floor: null, subject: ms, ratio: null, target: {} });
      }
    const answers: Sample[] = [];
    for (const side of sides) answers.push(await side.provision());
    const lines = (work: string, unit: string, samples: readonly Sample[]) =>
      sizes.map((x, i) => {
        const name = `${work} among ${x.toLocaleString("en")}`;
        return grown(name, unit, samples[i]!, i > 0 && samples[0]!, { plot: "resources", x });
      });
    return [
      ...lines("provision answered 202", "req/s", answers),
      ...lines("refresh", "tokens/s", refreshes),
      ...pages,
    ];
  },
};

const PAGES = {
  overview: "/operator/",
  "list of resources": "/operator/resources",
  "search for a name": "/operator/resources?text=teapots-4242",
};
const TOO_SLOW = 503;
const OPERATOR_PASSWORD = "a-password-of-the-operator-of-the-bench";

interface Side {
  refresh(): Promise<Sample>;
  /** The longest of three requests for a page of the operator. It is not answered (503) if its query takes too long. */
  page(path: string): Promise<{ ms: number; isAnswered: boolean }>;
  /** Answers provisions, then ends the process: the work that it has left would disturb the other sides. */
  provision(): Promise<Sample>;
}

async function among(bench: Bench, resources: number): Promise<Side> {
  const { roundMs } = bench.options;
  const database = await bench.databases.create();
  const uuids = await seedTokens(database, 5_000);
  await fill(database, resources - uuids.length);
  const web = await bench.startService("web", bench.settingsFor(database, { ...EAGER, OPERATOR_PASSWORD }));
  let sweeps = 0;
  return {
    refresh() {
      sweeps += 1;
      return drain(bench, database, [web], uuids);
    },
    async page(path) {
      const authorization = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString("base64")}`;
      const times: number[] = [];
      let isAnswered = true;
      for (let time = 0; time < 3; time++) {
        const startedAt = performance.now();
        const answer = await fetch(new URL(path, web.url), { headers: { authorization } });
        await answer.text();
        if (!answer.ok && answer.status !== TOO_SLOW)
          throw new Missing(`${path} was answered ${answer.status}`);
        times.push(performance.now() - startedAt);
        isAnswered &&= answer.ok;
      }
      return { ms: Math.max(...times), isAnswered };
    },
    async provision() {
      await checkTokens(database, uuids, 1 + sweeps);
      const asked = provisions({ plan: "dedicated", status: 202 });
      const round = (forMs: number) => measureLoad(web, asked, { connections: 32, forMs });
      await round(roundMs / 2);
      const provision = await round(2 * roundMs);
      await web.kill();
      await checkProvisions(database, asked.uuids, 202);
      await database.drop();
      return provision;
    },
  };
}

/** The report line of one step of growth, compared with the first one. */
function grown(
  work: string,
  unit: string,
  sample: Sample,
  first: Sample | false,
  point: NonNullable<Line["point"]>,
): Line {
  const { perSecond } = sample;
  return {
    ...{ work, unit, point, sample, target: {}, subject: perSecond },
    floor: first ? { name: "the first", value: first.perSecond } : null,
    ratio: first ? perSecond / first.perSecond : null,
  };
}
