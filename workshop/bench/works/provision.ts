import type { Bench } from "../bench.ts";
import { checkProvisions, expectAll } from "../books.ts";
import { contest, type Contestant, measureLoad, type Outcome, type Sample } from "../contest.ts";
import type { Database } from "../databases.ts";
import { NEVER_MS } from "../platform-process.ts";
import type { Program } from "../program.ts";
import { provisions } from "../provisions.ts";
import type { Line, Target, Work } from "./work.ts";

// Measures the answers to provisions alone: the token endpoint does not answer meanwhile, so that no exchange
// completes. What comes after the answer is measured in end-to-end.ts.

const CONNECTIONS = 32;
const MANY_CONNECTIONS = 128;
/** PostgreSQL's error code for missing privileges. */
const NOT_ALLOWED = "42501";

/**
 * A plan with `later` is answered 202 after one durable write; any other 200, after two writes and the vendor's code.
 */
const PLANS = { 202: "dedicated", 200: "basic" };

/** Answers 202 against a bare `node:http` server with one INSERT per request. */
export const provision202: Work = {
  name: "provision-202",
  measure: (bench) =>
    compare(bench, { status: 202, floor: "bare-http", target: { atLeast: 1 }, withCold: true }),
};

/** The same with more requests at once, which is what batches are for. */
export const provisionMany: Work = {
  name: "provision-many",
  measure: (bench) =>
    compare(bench, {
      status: 202,
      floor: "bare-http",
      target: { atLeast: 1.3 },
      connections: MANY_CONNECTIONS,
    }),
};

/** Answers 200 against the same floor. */
export const provision200: Work = {
  name: "provision-200",
  measure: (bench) => compare(bench, { status: 200, floor: "bare-http", target: { atLeast: 0.7 } }),
};

/** Both against a bare server that writes the same rows, a statement for each write. */
export const provisionFacts: Work = {
  name: "provision-facts",
  measure: async (bench) => [
    ...(await compare(bench, { status: 202, floor: "equal-facts", target: { atLeast: 1.5 } })),
    ...(await compare(bench, { status: 200, floor: "equal-facts", target: { atLeast: 1.2 } })),
  ],
};

/** Answers 202 against a first version's code: Express, zod, pino-http, and Prisma's create. */
export const provisionTwin: Work = {
  name: "provision-twin",
  measure: (bench) => compare(bench, { status: 202, floor: "plain-twin", target: { atLeast: 12 } }),
};

/**
 * Both kinds of answers on a slower disk, which is more common than this machine's may be. There is no target: those
 * are for the machine as it is.
 */
export const slowDisk: Work = {
  name: "slow-disk",
  async measure(bench) {
    const lines: Line[] = [];
    if (bench.options.quick) {
      console.error("slow-disk: left out of --quick");
      return lines;
    }
    try {
      for (const status of [202, 200] as const)
        lines.push(...(await compare(bench, { status, floor: "bare-http", target: {}, flushMs: 1 })));
    } catch (error) {
      if ((error as { code?: unknown }).code !== NOT_ALLOWED) throw error;
      console.error("slow-disk: left out, for this role may not set commit_delay");
    }
    return lines;
  },
};

type Floor = "bare-http" | "equal-facts" | "plain-twin";

interface Comparison {
  status: 200 | 202;
  floor: Floor;
  target: Target;
  connections?: number;
  /** How much longer each flush to the disk takes, in ms, for both sides. */
  flushMs?: number;
  /** Whether the first round of each process is a line, too. */
  withCold?: boolean;
}

async function compare(
  bench: Bench,
  { status, floor: floorName, target, flushMs = 0, connections = CONNECTIONS, withCold = false }: Comparison,
): Promise<Line[]> {
  await bench.platform.tell({ tokenMs: NEVER_MS });
  const floorDatabase = await bench.databases.create({ flushMs });
  const database = await bench.databases.create({ flushMs });
  const floor = await bench.startFloor(floorName, bench.settingsFor(floorDatabase));
  const service = await bench.startService("web", bench.settingsFor(database));
  const asked = {
    // The other floors answer every plan with 202.
    floor: provisions(
      floorName === "equal-facts" ? { plan: PLANS[status], status } : { plan: PLANS[202], status: 202 },
    ),
    service: provisions({ plan: PLANS[status], status }),
  };
  const { quick, roundMs } = bench.options;

  const plan = { connections, roundMs };
  const theirs = await contestant(floor, asked.floor, plan);
  const ours = await contestant(service, asked.service, plan);
  const outcome = await contest(theirs, ours, quick ? 2 : 6);
  await Promise.all([floor.kill(), service.kill()]);
  await checkProvisions(database, asked.service.uuids, status);
  await checkFloor(floorName, floorDatabase, asked.floor.uuids);
  await Promise.all([database.drop(), floorDatabase.drop()]);
  const work = [
    `provision answered ${status}`,
    flushMs > 0 ? `, a disk ${flushMs} ms slower` : "",
    connections === CONNECTIONS ? "" : `, ${connections} at once`,
  ].join("");
  const line = (words: string, { floor, subject, ratio }: Outcome): Line => ({
    ...{ work: words, unit: "req/s", floor: { name: floorName, value: floor.perSecond } },
    ...{ subject: subject.perSecond, ratio, target, sample: subject },
  });
  const cold = { floor: theirs.cold, subject: ours.cold, ratio: ours.cold.perSecond / theirs.cold.perSecond };
  return [
    line(work, outcome),
    ...(withCold ? [{ ...line(`${work}, the first ${roundMs / 1_000} s of both`, cold), target: {} }] : []),
  ];
}

/** A contestant whose rounds are loads of `roundMs`; the first one, `cold`, warms the process up. */
async function contestant(
  program: Program,
  traffic: ReturnType<typeof provisions>,
  { connections, roundMs }: { connections: number; roundMs: number },
): Promise<Contestant & { cold: Sample }> {
  const round = () => measureLoad(program, traffic, { connections, forMs: roundMs });
  return { cold: await round(), round };
}

/** The floor's answers are checked like the service's. */
async function checkFloor(name: Floor, { ask }: Database, uuids: readonly string[]): Promise<void> {
  const table = name === "bare-http" ? "floor" : "resources";
  expectAll(await ask<{ uuid: string }>(`SELECT uuid FROM ${table}`), uuids);
}
