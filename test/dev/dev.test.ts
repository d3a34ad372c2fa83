import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseEnv } from "node:util";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { freePorts, type Run, run, stateOf } from "./dev-run.ts";

let folder: string;
let ports: { PORT: string; SANDBOX_PORT: string };
const runs: Run[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "addon-test-"));
  // So that a PostgreSQL of another user is made there.
  await chmod(folder, 0o711);
  ports = await freePorts();
});
afterEach(async () => {
  for (const each of runs.splice(0)) await each.end("SIGKILL");
  await untilPostgresqlHasEnded();
  await rm(folder, { recursive: true });
});

const postgresql = () => path.join(folder, "postgresql-18");
/** It ends a moment after npm run dev, however that ends. */
const untilPostgresqlHasEnded = () =>
  eventually(() => expect(existsSync(path.join(postgresql(), "postmaster.pid"))).toBe(false));

function dev(more = {}): Run {
  const started = run("dev", { ...ports, DATA_DIR: folder, ...more });
  runs.push(started);
  return started;
}
const settings = async () => parseEnv(await readFile(path.join(folder, "dev.env"), "utf8"));

it("npm run dev installs the sample, shows the calls as they happen, continues after a kill, and prints no secret", async () => {
  const first = dev();
  await first.until("Ready.");
  // It is ready after ten seconds even if the grant is not exchanged yet.
  const story = await first.until(`You asked where it is attached: "shop".`);
  expect(story).toMatch(/platform → you {2}POST \/resources +200/);
  expect(story).toMatch(/you → platform {2}POST \/oauth\/token +200/);
  const [before] = (await stateOf(ports)).addons;
  expect(before).toMatchObject({
    state: "provisioned",
    grant: { state: "exchanged" },
    tokens: [{ state: "valid" }],
  });

  const [, address] = /sign in +(http:\S+\/oauth\/login)/.exec(story)!;
  const page = await fetch(address!);
  expect(page.url).toContain(`http://127.0.0.1:${ports.SANDBOX_PORT}/oauth/authorize?`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("teapots")]);
  const [, url, body] = /curl -s -X PATCH (\S+) -d '(.*)'/.exec(story)!;
  expect((await fetch(`http://${url}`, { method: "PATCH", body: body! })).status).toBe(200);
  await first.until("chose the plan premium");
  expect((await stateOf(ports)).addons[0]!.plan.name).toBe("teapots:premium");

  const made = await settings();
  // The platform's state file is written with a small delay.
  const remembered = () => readFile(path.join(folder, "sandbox.json"), "utf8");
  await eventually(async () => expect(await remembered()).toContain("premium"));
  expect(existsSync(path.join(postgresql(), "postmaster.pid"))).toBe(true);
  await first.end("SIGKILL");
  await untilPostgresqlHasEnded();
  const second = dev();
  const sequel = await second.until("Ready.");
  expect(sequel).toContain(`Going on where the last run stopped: ${before!.name}`);
  expect(sequel).toContain("this run installs nothing more");
  expect(sequel).not.toContain("POST /resources");
  expect((await stateOf(ports)).addons).toMatchObject([{ id: before!.id, tokens: [{ state: "valid" }] }]);
  expect(await settings()).toEqual(made);
  expect(await second.end("SIGINT")).toBe(0);

  // No secret is on the screen or in the log, and only their owner can read their file.
  const { ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, OAUTH_CLIENT_SECRET } = made;
  const log = await readFile(path.join(folder, "service.log"), "utf8");
  for (const secret of [ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, OAUTH_CLIENT_SECRET]) {
    expect(secret).toMatch(/^[0-9a-f]{48,}$/);
    expect(first.output() + second.output() + log).not.toContain(secret);
  }
  for (const file of ["dev.env", "sandbox.json", "service.log"])
    expect((await stat(path.join(folder, file))).mode & 0o777).toBe(0o600);
}, 600_000);

/**
 * Runs the commands as typed in a second terminal, up to the first that fails; `npm run kit` needs no build of this
 * folder.
 */
function typed(lines: string) {
  const { PATH, HOME } = process.env;
  const known = `curl() { command curl --fail "$@"; }\nnpm() { shift 4; node ${program("src/kit.ts")} "$@"; }\n`;
  const { status, stdout, stderr } = spawnSync("sh", ["-e", "-c", known + lines], {
    ...{ cwd: tmpdir(), env: { PATH, HOME, DATA_DIR: folder }, encoding: "utf8" },
  });
  return { status, said: stdout + stderr };
}

it("npm run dev says in one sentence which port is taken", async () => {
  const other = createServer().listen(Number(ports.PORT));
  await once(other, "listening");
  const { ended, output } = dev();
  expect([await ended, output()]).toEqual([
    1,
    expect.stringMatching(new RegExp(`^Port ${ports.PORT}, for your service, is in use: .*\n$`)),
  ]);
  await once(other.close(), "close");
});

it("the commands that npm run dev and docs/test-it.md suggest succeed when copied in order", async () => {
  const story = await dev().until("Ready.");
  const platform = story.split(/^ {2}Be the platform.*$/m)[1]!.split("\n\n")[0]!;
  const rows = [...platform.matchAll(/^ {4}\S.*? {2,}(.+)$/gm)].map(([, line]) => line!);
  expect(rows).toHaveLength(4);
  const page = readFileSync(new URL("../../docs/test-it.md", import.meta.url), "utf8");
  const block = page.split("## Faults by hand")[1]!.split("```")[1]!.replace(/^sh$/m, "");
  for (const lines of [block.replace("127.0.0.1:4000", `127.0.0.1:${ports.SANDBOX_PORT}`), rows.join("\n")]) {
    const { status, said } = typed(lines);
    expect({ said, status }).toEqual({ said, status: 0 });
    expect(said).toContain("version");
  }
  const { addons } = await stateOf(ports);
  expect(addons).toMatchObject([{ state: "provisioned" }]);
}, 600_000);
