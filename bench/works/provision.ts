import { checkProvisions, expectAll } from "../books.ts";
import type { Bench } from "../bench.ts";
import { contest, measureLoad, type Contestant } from "../contest.ts";
import type { Database } from "../databases.ts";
import { NEVER_MS } from "../platform-process.ts";
import type { Program } from "../program.ts";
import { provisions } from "../provisions.ts";
import type { Work } from "./work.ts";

// Provisions answered, no more: the platform gives no token meanwhile, so that no exchange runs beside. What comes
// after the answer is measured in end-to-end.ts.

const CONNECTIONS = 32;

/** A plan whose `later` is set is answered 202 after one durable write; any other 200, after two and the vendor's code. */
const PLANS = { 202: "dedicated", 200: "basic" };

/** Answers 202 against a bare `node:http` server with one INSERT per request. */
export const provision202: Work = {
  name: "provision-202",
  measure: (bench) => compare(bench, 202, "bare-http", { atLeast: 1.3 }),
};

/** Answers 200 against the same floor. */
export const provision200: Work = {
  name: "provision-200",
  measure: (bench) => compare(bench, 200, "bare-http", { atLeast: 0.9 }),
};

/** Answers 202 against what one writes first: Express, zod, pino-http, and Prisma's create. */
export const provisionTwin: Work = {
  name: "provision-twin",
  measure: (bench) => compare(bench, 202, "plain-twin", { atLeast: 10 }),
};

async function compare(
  bench: Bench,
  status: 200 | 202,
  floorName: "bare-http" | "plain-twin",
  target: { atLeast: number },
) {
  await bench.platform.tell({ tokenMs: NEVER_MS });
  const [floorDatabase, database] = [await bench.databases.create(), await bench.databases.create()];
  const floor = await bench.startFloor(floorName, bench.settingsFor(floorDatabase));
  const service = await bench.startService("web", bench.settingsFor(database));
  const asked = {
    floor: provisions({ plan: PLANS[202], status: 202 }),
    service: provisions({ plan: PLANS[status], status }),
  };
  const { quick, roundMs } = bench.options;

  const outcome = await contest(
    await contestant(floor, asked.floor, roundMs),
    await contestant(service, asked.service, roundMs),
    quick ? 2 : 6,
  );
  await Promise.all([floor.kill(), bench.end(service)]);
  await checkProvisions(database, asked.service.uuids, status);
  await checkFloor(floorName, floorDatabase, asked.floor.uuids);
  await Promise.all([database.drop(), floorDatabase.drop()]);
  return [
    {
      work: `provision answered ${status}`,
      unit: "req/s",
      floor: { name: floorName, value: outcome.floor.perSecond },
      subject: outcome.subject.perSecond,
      ratio: outcome.ratio,
      target,
      sample: outcome.subject,
    },
  ];
}

/** Answers loads of a few seconds; the first, before any is measured, lets the process warm up. */
async function contestant(
  program: Program,
  traffic: ReturnType<typeof provisions>,
  roundMs: number,
): Promise<Contestant> {
  const round = (forMs: number) => measureLoad(program, traffic, { connections: CONNECTIONS, forMs });
  await round(roundMs / 2);
  return { round: () => round(roundMs) };
}

/** The floor's promises count as much as ours. */
async function checkFloor(
  name: "bare-http" | "plain-twin",
  { ask }: Database,
  uuids: readonly string[],
): Promise<void> {
  const table = name === "bare-http" ? "floor" : "resources";
  expectAll(await ask<{ uuid: string }>(`SELECT uuid FROM ${table}`), uuids);
}
