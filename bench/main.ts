import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createBench } from "./bench.ts";
import { writeDocs } from "./docs.ts";
import { profileText, readProfiles } from "./profile.ts";
import { table } from "./report.ts";
import { works } from "./works/all.ts";
import type { Line } from "./works/work.ts";

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

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => exit(1, "Stopped."));

const profiles = values.profile ? mkdtempSync(path.join(tmpdir(), "bench-profiles-")) : undefined;
const databaseUrl = process.env["BENCH_DATABASE_URL"];
const bench = await createBench({ dist, quick, roundMs, profiles, databaseUrl }).catch((error: Error) =>
  exit(2, error.message),
);
say(bench.says.join(" · "));
const lines: Line[] = [];
const faults: string[] = [];
for (const work of works.filter(({ name }) => only.length === 0 || only.includes(name))) {
  const startedAt = performance.now();
  try {
    lines.push(...(await work.measure(bench)));
    say(`${work.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  } catch (error) {
    faults.push(`${work.name}: ${error instanceof Error ? error.message : String(error)}`);
    say(`WRONG  ${faults.at(-1)}`);
  }
  if (profiles) say(profileText(readProfiles(profiles)));
}
console.log(json ? JSON.stringify({ says: bench.says, lines, faults }, null, 2) : `\n${table(lines)}`);
await bench.close();
if (profiles) rmSync(profiles, { recursive: true });
if (faults.length === 0 && values["write-docs"]) await writeDocs(bench.says, lines);
exit(faults.length > 0 ? 1 : 0, faults.map((fault) => `WRONG  ${fault}`).join("\n"));

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
