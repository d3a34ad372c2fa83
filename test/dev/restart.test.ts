import { symlinkSync, writeFileSync } from "node:fs";
import { chmod, cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/world.ts";
import { freePorts, type Run, runIn, stateOf } from "./dev-run.ts";

// A copy of the project, run from its sources as `npm run dev` does, whose files these tests change.

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = ["src", "dev", "packages", "prisma", "package.json", "tsconfig.json"];
const YOURS = "src/your-service/index.ts";

let folder: string;
let original: string;
let ports: { PORT: string; SANDBOX_PORT: string };
let dev: Run;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "addon test-"));
  // So that a PostgreSQL of another user is made there.
  await chmod(folder, 0o711);
  for (const name of COPIED) await cp(path.join(PROJECT, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(PROJECT, "node_modules"), path.join(folder, "node_modules"));
  original = await readFile(path.join(folder, YOURS), "utf8");
  ports = await freePorts();
  dev = runIn(folder, ["--import", "tsx", "dev/dev.ts", "--inspect=0"], ports);
  await dev.until("Ready.");
});
afterAll(async () => {
  await dev?.end("SIGKILL");
  await rm(folder, { recursive: true, maxRetries: 20, retryDelay: 500 });
});

/** At once: two moments apart, to empty a file and to write it are two changes. */
const save = async (text: string, file = YOURS) => writeFileSync(path.join(folder, file), text);
const changed = (from: string, to: string) => original.replace(from, to);
const isUp = async () =>
  (await fetch(`http://127.0.0.1:${ports.PORT}/readyz`).catch(() => null))?.ok ?? false;

/** What is printed from now on, up to `text`. */
async function printedUntil(text: string, after: () => Promise<unknown>): Promise<string> {
  const from = dev.output().length;
  await after();
  return eventually(() => {
    const printed = dev.output().slice(from);
    return printed.includes(text) ? printed : null;
  });
}

const AGAIN = "answers again";
const WAITS = "It starts again when a file below src/ changes.";
const restarts = `${YOURS} changed: your service restarts.`;

it("a change restarts the service alone, says which file, and the platform keeps its world and learns new plans", async () => {
  const before = (await stateOf(ports)).addons;
  const plans = await readFile(path.join(folder, "src/your-service/plans.ts"), "utf8");
  const printed = await printedUntil(AGAIN, async () => {
    await save(plans.replace(/^( +)basic: /m, "$1gala: { summary: 'x' },\n$&"), "src/your-service/plans.ts");
    await save(changed("TEAPOT_URL: `https:", "TEAPOT_URL: `http:"));
  });
  expect(printed).toContain("changed: your service restarts.");
  expect(printed).toContain("Debugger listening on ws://127.0.0.1:");
  expect((await stateOf(ports)).addons).toEqual(before);
  const app = `http://127.0.0.1:${ports.SANDBOX_PORT}/sandbox/apps/shop`;
  const gala = { method: "POST", body: JSON.stringify({ plan: "gala" }) };
  await printedUntil("installed gala", () => fetch(`${app}/addons`, gala));
  await eventually(async () => {
    const vars = await fetch(`${app}/config-vars`);
    expect(await vars.text()).toContain("http://gala.teapots.example");
  });
});

it("a syntax error is shown with its lines and without a stack, and waited out", async () => {
  const printed = await printedUntil(WAITS, () => save(changed("customerPage,\n", "customerPage,,\n")));
  expect(printed).toContain(restarts);
  expect(printed).toMatch(/\d+:\d+: Expected identifier.*\n\n.*\n[^]*> +\d+ \|.*,,/);
  expect(printed).not.toMatch(/^ +at /m);
  expect(await isUp()).toBe(false);
  expect((await stateOf(ports)).addons).not.toEqual([]);
  await printedUntil(AGAIN, () => save(original));
  expect(await isUp()).toBe(true);
});

it.each([
  ["an error at its start", 'throw new Error("no tea");', /Error: no tea\n\n.*:\d+\n[^]*> +\d+ \|.*no tea/],
  [
    "a crash",
    `void import("node:fs").then(({ existsSync: is }) => setInterval(() => { if (is("now")) throw new Error("late"); }, 100));`,
    /late \(src\/your-service\/index\.ts:[^]*Your service has ended \(exit code 1\)\./,
  ],
])("%s of the service is shown and waited out", async (what, bug, shown) => {
  const wrong = () => save(changed("  return {\n", `  ${bug}\n  return {\n`));
  const printed = await printedUntil(WAITS, async () => {
    if (what !== "a crash") return wrong();
    await printedUntil(AGAIN, wrong);
    await save("", "now");
  });
  expect(printed).toMatch(shown);
  expect(await isUp()).toBe(false);
  await printedUntil(AGAIN, () => save(original));
});

it("generated code and what editors leave restart nothing; a kill of npm run dev leaves no service", async () => {
  const printed = await printedUntil(AGAIN, async () => {
    await save("", "src/database/client/new.ts");
    for (const name of [".index.ts.swp", "4913", "index.ts~"]) await save("", `src/your-service/${name}`);
    await save(`${original}// changed\n`);
  });
  expect(printed.match(/restarts\./g)).toHaveLength(1);
  expect(printed).toContain(restarts);
  expect(await isUp()).toBe(true);
  await dev.end("SIGKILL");
  await eventually(async () => expect(await isUp()).toBe(false));
});
