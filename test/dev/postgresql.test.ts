import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { newUrl, startPostgresql, temporaryPostgresql } from "../../dev/postgresql.ts";
import { Misconfigured } from "../../src/errors.ts";
import { administer } from "../support/database.ts";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { aTemporaryFolder } from "./dev-run.ts";

let temporary: Awaited<ReturnType<typeof aTemporaryFolder>>;
let TMPDIR: string;
beforeEach(async () => {
  temporary = await aTemporaryFolder();
  TMPDIR = temporary.folder;
});
afterEach(() => temporary.remove());

const ask = (url: string, text: string) => administer(url, (one) => one(text));

/** The process of the server that runs in this folder. */
const pidIn = (data: string) =>
  Number(readFileSync(path.join(data, "postmaster.pid"), "utf8").split("\n")[0]);
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it("the development PostgreSQL keeps its data, port and password, in a path with spaces", async () => {
  const folder = path.join(TMPDIR, "with a space", "data");
  const first = await startPostgresql(folder, newUrl(), { settings: ["work_mem=5MB"], isDurable: true });
  await ask(first.url, "CREATE TABLE kept AS SELECT 1 AS one");
  expect(await ask(first.url, "SHOW work_mem")).toEqual([{ work_mem: "5MB" }]);
  expect(await ask(first.url, "SHOW fsync")).toEqual([{ fsync: "on" }]);
  const pid = pidIn(folder);
  await first.stop();
  expect(isRunning(pid)).toBe(false);
  const second = await startPostgresql(folder, first.url);
  expect(second.url).toBe(first.url);
  expect(await ask(second.url, "SELECT * FROM kept")).toEqual([{ one: 1 }]);
  await second.stop();
  const wrong = startPostgresql(folder, newUrl());
  await expect(wrong).rejects.toThrow(`The PostgreSQL in ${folder} cannot be used: password authentication`);
  await expect(wrong).rejects.toBeInstanceOf(Misconfigured);
  expect(existsSync(path.join(folder, "postmaster.pid"))).toBe(false);
});

it.each(["while it is set up", "when it runs"])(
  "a temporary one ends and is removed when its starter is killed %s",
  async (when) => {
    const script = `const { temporaryPostgresql } = await import(${JSON.stringify(program("dev/postgresql.ts"))});
      await temporaryPostgresql();
      console.log("runs");
      setInterval(() => {}, 1_000);`;
    const { PATH } = process.env;
    const starter = spawn(process.execPath, ["--input-type=module", "-e", script], { env: { PATH, TMPDIR } });
    const name = await eventually(async () => (await temporary.left())[0] ?? null);
    const folder = path.join(TMPDIR, name);
    const hasBegun = () =>
      readdirSync(folder).some((each) => readdirSync(path.join(folder, each)).length > 0);
    if (when === "when it runs") await once(starter.stdout, "data");
    else await eventually(hasBegun);
    starter.kill("SIGKILL");
    await eventually(async () => expect(await temporary.left()).toEqual([]));
    // Nothing that still runs makes it anew.
    await sleep(300);
    expect(existsSync(folder)).toBe(false);
  },
);

it("one that was killed starts again, also where another program has its port by then", async () => {
  const folder = path.join(TMPDIR, "killed");
  const first = await startPostgresql(folder, newUrl());
  process.kill(pidIn(folder), "SIGKILL");
  await first.stop();
  const port = Number(new URL(first.url).port);
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  // It refuses while the killed server's own processes are still ending.
  const second = await eventually(() => startPostgresql(folder, first.url));
  expect(Number(new URL(second.url).port)).not.toBe(port);
  await second.stop();
  other.close();
});

it("a server that a killed starter left is stopped by the next one, and a folder that others may not enter is no hindrance", async () => {
  chmodSync(TMPDIR, 0o700);
  const folder = path.join(TMPDIR, "data");
  const { url } = await startPostgresql(folder, newUrl());
  await ask(url, "CREATE TABLE kept AS SELECT 1 AS one");
  const pid = pidIn(folder);
  const next = await startPostgresql(folder, url);
  expect(isRunning(pid)).toBe(false);
  expect(await ask(next.url, "SELECT * FROM kept")).toEqual([{ one: 1 }]);
  await next.stop();
  // For root it is a link to a folder elsewhere.
  rmSync(realpathSync(folder), { recursive: true });
});

it("where the packages hold none for the machine, one sentence says what to set", async () => {
  const { arch } = process;
  Object.defineProperty(process, "arch", { value: "abacus" });
  const started = temporaryPostgresql();
  await expect(started).rejects.toThrow(
    /^No PostgreSQL for this machine \(\w+, abacus\) .*set DATABASE_URL /,
  );
  Object.defineProperty(process, "arch", { value: arch });
});
