import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startPostgres, type Server } from "../../workshop/bench/postgres.ts";
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
      `const { readConfig } = ${load("config.ts")};
       const { readEnvironment } = ${load("environment.ts")};
       const { runProcess } = ${load("process/run-process.ts")};
       const { ${run} } = ${load(`process/run-${name}.ts`)};
       await runProcess(() => readConfig(readEnvironment()), (config) => ${run}(config, ${parts}));`,
    );
  return folder;
}

/** Deletes one row of those that were just answered. */
const LOSES_A_ROW = `{ wrapDatabase: (db) => {
  let isLost = false;
  const query = async (asked, values) => {
    const rows = await db.query(asked, values);
    if (asked.name === "provision" && rows.length > 0 && !isLost) {
      isLost = true;
      await db.query({ name: "lose", text: "DELETE FROM resources WHERE uuid = $1" }, [rows[0].uuid]);
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

function bench(dist: string, ...words: string[]) {
  const quick = ["--quick", "--seconds", "0.2", "--scale", "0.05", "--json", "--dist", dist];
  const main = ["--import", "tsx", "workshop/bench/main.ts"];
  const child = spawn(process.execPath, [...main, ...quick, ...words], {
    ...{ cwd: root, env: { ...process.env, BENCH_DATABASE_URL: server.url } },
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return {
    child,
    ended: ended.then(([stdout, stderr, [status]]) => ({ status: status as number, stdout, stderr })),
  };
}

it("npm run bench reports the service relative to its baseline", async () => {
  const only = ["provision-202", "refresh-0ms"].flatMap((name) => ["--only", name]);
  const { status, stdout, stderr } = await bench(aBuiltService(), ...only).ended;
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining("WRONG") });
  const { lines, faults } = JSON.parse(stdout) as { lines: Line[]; faults: string[] };
  expect(faults).toEqual([]);
  expect(lines).toHaveLength(2);
  const { floor, subject, ratio, sample } = lines[0]!;
  for (const figure of [floor!.value, subject, ratio, sample!.p50Ms, sample!.p99Ms])
    expect(figure).toBeGreaterThan(0);
}, 300_000);

it("npm run bench fails with the reason when an answered row is missing", async () => {
  const { status, stdout, stderr } = await bench(aBuiltService(LOSES_A_ROW), "--only", "provision-202").ended;
  expect(stderr).toMatch(/WRONG {2}provision-202: 1 of \d+ that were answered have no row/);
  expect(JSON.parse(stdout)).toMatchObject({ lines: [] });
  expect(status).toBe(1);
}, 300_000);
