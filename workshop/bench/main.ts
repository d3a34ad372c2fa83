import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Bench, createBench } from "./bench.ts";
import { writeDocs } from "./docs.ts";
import { mediansOf, readRun, type Run } from "./medians.ts";
import { table } from "./report.ts";
import { works } from "./works/all.ts";
import { LEAST_RESOURCES } from "./works/growth.ts";
import type { Line, Work } from "./works/work.ts";

// Measures each claim of README.md as a ratio to a floor that is measured in the same run. Exits with 1 if
// any answer was wrong or is not stored, with 2 if used wrongly.

const USAGE = `npm run bench [-- --quick] [--only NAME]… [--seconds OF-A-ROUND] [--scale PART-OF-THE-ROWS] [--resources N] [--json] [--write-docs] [--dist FOLDER]
npm run bench -- --write-docs FILE…   the medians of runs with --json, in place of a run
NAME: ${works.map(({ name }) => name).join(", ")}`;

const { values, positionals: files } = readOptions();
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const { only, quick, json, dist } = values;
const roundMs = Number(values.seconds ?? (quick ? 1.5 : 3)) * 1_000;
const scale = Number(values.scale);
const resources = values.resources === undefined ? undefined : Number(values.resources);
const say = (text: string) => void process.stderr.write(`${text}\n`);
const strange = only.filter((name) => !works.some((work) => work.name === name));
if (strange.length > 0) exit(2, `There is no ${strange.join(", ")}.\n${USAGE}`);
if (values["write-docs"] && (only.length > 0 || quick || scale !== 1 || resources))
  exit(
    2,
    "--write-docs writes the figures of a whole run: leave --only, --quick, --scale and --resources out.",
  );
if (files.length > 0 && !values["write-docs"])
  exit(2, `${files.join(", ")}: files are read with --write-docs only.\n${USAGE}`);
if (!(roundMs > 0)) exit(2, "--seconds is how long a round lasts: a number above zero.");
if (!(scale > 0)) exit(2, "--scale is the part of the usual rows that is made: a number above zero.");
if (resources !== undefined && !(resources > LEAST_RESOURCES))
  exit(2, `--resources is among how many growth is measured: a number above ${LEAST_RESOURCES}.`);
if (!existsSync(path.join(dist, "web.js"))) exit(2, `There is no built service in ${dist}: npm run build`);

const [file, ...others] = files;
if (file !== undefined) {
  try {
    await writeDocs(mediansOf([readRun(file), ...others.map(readRun)]));
  } catch (error) {
    exit(1, wordsOf(error));
  }
  process.exit();
}

/** After a stop, the clean-up may take this long. */
const LONGEST_CLOSE_MS = 10_000;
let isStopped = false;
const stopped = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      isStopped = true;
      // Writing to a terminal that has hung up fails: ignore that.
      for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
      resolve();
    });
});

const databaseUrl = process.env["BENCH_DATABASE_URL"];
const creating = createBench({ dist, quick, roundMs, scale, resources, databaseUrl });
const lines: Line[] = [];
const faults: string[] = [];
await Promise.race([measureAll().catch((error: unknown) => exit(2, wordsOf(error))), stopped]);
/**
 * The limit applies only after a stop; otherwise the clean-up takes as long as it needs, so that nothing is left on the
 * disk.
 */
const afterAStop = stopped.then(() => sleep(LONGEST_CLOSE_MS, null));
const made = (await Promise.race([creating.catch(() => null), afterAStop])) ?? exit(1, "Stopped.");
const { says, close } = made;
await Promise.race([close().catch((error: unknown) => isStopped || say(wordsOf(error))), afterAStop]);
if (isStopped) exit(1, "Stopped.");
if (faults.length === 0 && values["write-docs"]) await writeDocs(runOf(says));
exit(faults.length > 0 ? 1 : 0, faults.map((fault) => `WRONG  ${fault}`).join("\n"));

async function measureAll(): Promise<void> {
  const bench = await creating;
  say(bench.says.join(" · "));
  for (const work of works.filter((each) =>
    only.length === 0 ? !each.isOnlyWhenNamed : only.includes(each.name),
  )) {
    const startedAt = performance.now();
    try {
      lines.push(...(await measure(bench, work)));
      say(`${work.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
    } catch (error) {
      if (isStopped) return;
      faults.push(`${work.name}: ${wordsOf(error)}`);
      say(`WRONG  ${faults.at(-1)}`);
    }
  }
  console.log(json ? JSON.stringify(runOf(bench.says), null, 2) : `\n${table(lines)}`);
}

function runOf(says: readonly string[]): Run {
  return { on: new Date().toISOString().slice(0, 10), says, lines, faults };
}

/**
 * Kills what the work left running, so that it does not disturb the next; and `tell` throws if the bench's platform got
 * a call that it does not know.
 */
async function measure(bench: Bench, work: Work): Promise<Line[]> {
  try {
    return await work.measure(bench);
  } finally {
    await bench.endAll();
    if (!isStopped) await bench.platform.tell();
  }
}

/** A connection refused on both IPv4 and IPv6 is an error without a message. */
function wordsOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

function readOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: "boolean", default: false },
        only: { type: "string", multiple: true, default: [] },
        seconds: { type: "string" },
        scale: { type: "string", default: "1" },
        resources: { type: "string" },
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        "write-docs": { type: "boolean", default: false },
        dist: { type: "string", default: fileURLToPath(new URL("../../dist", import.meta.url)) },
      },
    });
  } catch (error) {
    return exit(2, `${(error as Error).message}\n${USAGE}`);
  }
}

function exit(code: number, why: string): never {
  if (why) process.stderr.write(`${why}\n`);
  process.exit(code);
}
