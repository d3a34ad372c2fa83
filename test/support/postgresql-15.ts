import { execFile } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../packages/conformance/free-port.ts";

const BIN = "/usr/lib/postgresql/15/bin";
const run = promisify(execFile);

/** Whether Debian's PostgreSQL 15 is on this machine, with all its programs: npm's has no dumps and no standbys. */
export const hasPostgresql15 = existsSync(path.join(BIN, "pg_basebackup"));

/** A folder of servers of PostgreSQL 15, and its programs, run as a user who may run a server. */
export async function postgresql15() {
  const isRoot = process.getuid?.() === 0;
  const idOf = async (what: string) => Number((await run("id", [what, "postgres"])).stdout);
  const user = isRoot ? { uid: await idOf("-u"), gid: await idOf("-g") } : {};
  const folder = mkdtempSync(path.join(tmpdir(), "addon-postgresql-15-"));
  if (isRoot) chownSync(folder, user.uid!, user.gid!);
  const started = new Set<string>();
  const program = (name: string, ...words: string[]) =>
    run(path.join(BIN, name), words, { ...user, cwd: folder, maxBuffer: 1e7 });
  const data = (name: string) => path.join(folder, name);
  const control = (name: string, ...words: string[]) => program("pg_ctl", "-D", data(name), "-w", ...words);

  return {
    folder,
    bin: BIN,
    program,
    data,
    /** Starts the server in this folder, which is there; its address, as a role that may do everything. */
    async start(name: string, ...settings: string[]): Promise<string> {
      const port = await freePort();
      const all = [
        `port=${port}`,
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=off",
        ...settings,
      ];
      const options = all.map((setting) => `-c ${setting}`).join(" ");
      await control(name, "-l", path.join(folder, `${name}.log`), "-o", options, "start");
      started.add(name);
      return `postgresql://kit@127.0.0.1:${port}/postgres`;
    },
    async initialise(name: string): Promise<void> {
      await program(
        "initdb",
        "-D",
        data(name),
        "-U",
        "kit",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
      );
    },
    promote: (name: string) => control(name, "promote"),
    async stop(name: string, mode: "fast" | "immediate" = "fast"): Promise<void> {
      started.delete(name);
      await control(name, "-m", mode, "stop");
    },
    async close(): Promise<void> {
      for (const name of started) await control(name, "-m", "immediate", "stop").catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
