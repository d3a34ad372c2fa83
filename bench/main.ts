import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createBench, type Bench } from "./bench.ts";
import { writeDocs } from "./docs.ts";
import { profileText, readProfiles } from "./profile.ts";
import { table } from "./report.ts";
import { works } from "./works/all.ts";
import type { Line, Work } from "./works/work.ts";

// Each claim of docs/performance.md as a ratio against a floor that is measured in the same run. Exit 1 if anything was
// answered wrongly or is not stored, 2 if used wrongly.

const USAGE = `npm run bench [-- --quick] [--only NAME]… [--seconds OF-A-ROUND] [--json] [--profile] [--write-docs] [--dist FOLDER]
NAME: ${works.map(({ name }) => name).join(", ")}`;

const values = readOptions();
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const { only, quick, json, dist } = values;
const roundMs = Number(values.seconds ?? (quick ? 1.5 : 3)) * 1_000;
const say = (text: string) => void process.stderr.write(`${text}\n`);
const strange = only.filter((name) => !works.some((work) => work.name === name));
if (strange.length > 0) exit(2, `There is no ${strange.join(", ")}.\n${USAGE}`);
if (values["write-docs"] && (only.length > 0 || quick || values.profile))
  exit(2, "--write-docs writes the figures of a whole run: leave --only, --quick and --profile out.");
if (!(roundMs > 0)) exit(2, "--seconds is how long a round lasts: a number above zero.");
if (!existsSync(path.join(dist, "web.js"))) exit(2, `There is no built service in ${dist}: npm run build`);

/** So long may it take to take down what was made. */
const LONGEST_CLOSE_MS = 10_000;
let isStopped = false;
const stopped = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      isStopped = true;
      // A terminal that hung up takes no more words.
      for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
      resolve();
    });
});

const profiles = values.profile ? mkdtempSync(path.join(tmpdir(), "bench-profiles-")) : undefined;
if (profiles) process.once("exit", () => rmSync(profiles, { recursive: true }));
const databaseUrl = process.env["BENCH_DATABASE_URL"];
const creating = createBench({ dist, quick, roundMs, profiles, databaseUrl });
const lines: Line[] = [];
const faults: string[] = [];
await Promise.race([measureAll().catch((error: unknown) => exit(2, wordsOf(error))), stopped]);
/** Only who was stopped hurries: what is left behind is somebody's disk. */
const afterAStop = stopped.then(() => wait(LONGEST_CLOSE_MS, null));
const made = (await Promise.race([creating.catch(() => null), afterAStop])) ?? exit(1, "Stopped.");
const { says, close } = made;
await Promise.race([close().catch((error: unknown) => isStopped || say(wordsOf(error))), afterAStop]);
if (isStopped) exit(1, "Stopped.");
if (faults.length === 0 && values["write-docs"]) await writeDocs(says, lines);
exit(faults.length > 0 ? 1 : 0, faults.map((fault) => `WRONG  ${fault}`).join("\n"));

async function measureAll(): Promise<void> {
  const bench = await creating;
  say(bench.says.join(" · "));
  for (const work of works.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const startedAt = performance.now();
    try {
      lines.push(...(await measure(bench, work)));
      say(`${work.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
    } catch (error) {
      if (isStopped) return;
      faults.push(`${work.name}: ${wordsOf(error)}`);
      say(`WRONG  ${faults.at(-1)}`);
    }
    if (profiles) say(profileText(readProfiles(profiles)));
  }
  console.log(json ? JSON.stringify({ says: bench.says, lines, faults }, null, 2) : `\n${table(lines)}`);
}

/** Nothing that a work started is in the way of the next; and the platform understood all that it was asked. */
async function measure(bench: Bench, work: Work): Promise<Line[]> {
  try {
    return await work.measure(bench);
  } finally {
    await bench.endAll();
    if (!isStopped) await bench.platform.tell();
  }
}

/** An address that nobody answers at in two ways is an error without a message. */
function wordsOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        help: { type: "boolean", default: false },
        only: { type: "string", multiple: true, default: [] },
        seconds: { type: "string" },
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        profile: { type: "boolean", default: false },
        "write-docs": { type: "boolean", default: false },
        dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
      },
    }).values;
  } catch (error) {
    return exit(2, `${(error as Error).message}\n${USAGE}`);
  }
}

function exit(code: number, why: string): never {
  if (why) process.stderr.write(`${why}\n`);
  process.exit(code);
}
