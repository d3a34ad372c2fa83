import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createBench } from "./bench.ts";
import { table } from "./report.ts";
import { works } from "./works/all.ts";
import type { Line } from "./works/work.ts";

// Each claim of docs/performance.md as a ratio against a floor that is measured in the same run.
// npm run bench [-- --quick] [--only NAME…] [--json]

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
  },
});
const say = (text: string) => void process.stderr.write(`${text}\n`);
const unknown = values.only.filter((name) => !works.some((work) => work.name === name));
if (unknown.length > 0)
  exit(2, `There is no ${unknown.join(", ")}. There are: ${works.map(({ name }) => name).join(", ")}`);
if (!existsSync(path.join(values.dist, "web.js")))
  exit(2, `There is no built service in ${values.dist}: npm run build`);

const bench = await createBench({ ...values, databaseUrl: process.env["BENCH_DATABASE_URL"] }).catch(
  (error: Error) => exit(2, error.message),
);
say(bench.says.join(" · "));
const lines: Line[] = [];
const faults: string[] = [];
for (const work of works.filter(({ name }) => values.only.length === 0 || values.only.includes(name))) {
  const startedAt = performance.now();
  try {
    lines.push(...(await work.measure(bench)));
    say(`${work.name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  } catch (error) {
    faults.push(`${work.name}: ${error instanceof Error ? error.message : String(error)}`);
    say(`WRONG  ${faults.at(-1)}`);
  }
}
await bench.close();
console.log(values.json ? JSON.stringify({ says: bench.says, lines, faults }, null, 2) : `\n${table(lines)}`);
exit(faults.length > 0 ? 1 : 0, faults.map((fault) => `WRONG  ${fault}`).join("\n"));

function exit(code: number, why: string): never {
  if (why) say(why);
  process.exit(code);
}
