import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Server, startPostgres } from "../../workshop/bench/postgres.ts";
import type { Line } from "../../workshop/bench/works/work.ts";
import { program } from "../support/program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folders: string[] = [];

/** A folder like dist/, whose programs are those of src/; `parts` stand around the processes'. */
function aBuiltService(parts = "{}"): string {
  const folder = mkdtempSync(path.join(tmpdir(), "bench-test-"));
  folders.push(folder);
  const write = (name: string, code: string) => writeFileSync(path.join(folder, name), code);
  const load = (file: string) => `await import("${pathToFileURL(program(`src/${file}`)).href}")`;
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  write("package.json", `{ "type": "module" }`);
  write("kit.js", load("kit.ts"));
  for (const [name, run] of Object.entries({ web: "runWeb", worker: "runWorker" }))
    write(
      `${name}.js`,
      `const { runProcess } = ${load("process/run-process.ts")};
       const { ${run} } = ${load(`process/run-${name}.ts`)};
       await runProcess("${name}", (config) => ${run}(config, ${parts}));`,
    );
  return folder;
}

/** Deletes one row of those that were just answered. */
const LOSES_A_ROW = `{ wrapDatabase: (db) => {
  let isLost = false;
  const query = async (asked, ...values) => {
    const rows = await db.query(asked, ...values);
    if (asked.name === "provision" && rows.length > 0 && !isLost) {
      isLost = true;
      const lose = { name: "lose", text: "DELETE FROM resources WHERE uuid = $1", bind: (uuids) => uuids };
      await db.query(lose, [rows[0].uuid]);
    }
    return rows;
  };
  return { ...db, query };
} }`;

let server: Server;
beforeAll(async () => void (server = await startPostgres(undefined)));
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true });
  await server.stop();
});

async function bench(dist: string, ...names: string[]) {
  const quick = ["--quick", "--seconds", "0.2", "--scale", "0.05", "--json", "--dist", dist];
  const words = ["workshop/bench/main.ts", ...quick, ...names.flatMap((name) => ["--only", name])];
  const child = spawn(process.execPath, ["--import", "tsx", ...words], {
    ...{ cwd: root, env: { ...process.env, BENCH_DATABASE_URL: server.url } },
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { status: child.exitCode, stderr, ...(JSON.parse(stdout) as { lines: Line[]; faults: string[] }) };
}

it("npm run bench reports the service relative to its baseline", async () => {
  const { lines, ...end } = await bench(aBuiltService(), "provision-202", "refresh-0ms");
  expect(end).toMatchObject({ status: 0, stderr: expect.not.stringContaining("WRONG"), faults: [] });
  expect(lines.map(({ work }) => work)).toEqual([
    "provision answered 202",
    "provision answered 202, the first 0.2 s of both",
    "refresh, endpoint answers at once, 64 in flight",
  ]);
  const { floor, subject, ratio, sample } = lines[0]!;
  for (const figure of [floor!.value, subject, ratio, sample!.p50Ms, sample!.p99Ms])
    expect(figure).toBeGreaterThan(0);
}, 300_000);

it("npm run bench fails with the reason when an answered row is missing", async () => {
  const { status, stderr, lines } = await bench(aBuiltService(LOSES_A_ROW), "provision-202");
  expect(stderr).toMatch(/WRONG {2}provision-202: 1 of \d+ that were answered have no row/);
  expect([status, lines]).toEqual([1, []]);
}, 300_000);
