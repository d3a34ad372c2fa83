import { execFileSync, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export interface Server {
  /** The URL of a database from which others can be created. */
  url: string;
  says: string;
  stop(): Promise<void>;
}

/**
 * The PostgreSQL to measure on: the given one, or one of our own that ends with this process. It must write durably,
 * because figures without fsync are worthless. Throws if there is none, or if it does not.
 */
export async function startPostgres(given: string | undefined): Promise<Server> {
  const server = given ? { url: given, stop: async () => undefined } : await startOwn();
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<{ version: string; durable: string }>(
    `SELECT current_setting('server_version') AS version,
       format('fsync %s, synchronous_commit %s', current_setting('fsync'), current_setting('synchronous_commit')) AS durable`,
  );
  await client.end();
  const { version, durable } = rows[0]!;
  if (durable === "fsync on, synchronous_commit on")
    return { ...server, says: `PostgreSQL ${version.split(" ")[0]}, ${durable}` };
  await server.stop();
  throw new Error(`This PostgreSQL does not write durably (${durable}); nothing is measured on it.`);
}

/** Default settings, except for enough connections for four processes, and WAL space for a million rows. */
const SETTINGS = ["listen_addresses=127.0.0.1", "max_connections=200", "max_wal_size=4GB"];

async function startOwn(): Promise<Pick<Server, "url" | "stop">> {
  const bin = findPostgres();
  const data = mkdtempSync(path.join(tmpdir(), "bench-postgres-"));
  // The server refuses to run as root.
  const owner = process.getuid?.() === 0 ? idsOf("postgres") : null;
  if (owner) chownSync(data, owner.uid, owner.gid);
  const as: SpawnOptions = { ...owner, cwd: data, stdio: "ignore" };
  execFileSync(
    path.join(bin, "initdb"),
    ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C"],
    {
      ...as,
      stdio: "ignore",
    },
  );

  const port = await freePort();
  const settings = [...SETTINGS, `port=${port}`, `unix_socket_directories=${data}`];
  const child = spawn(
    path.join(bin, "postgres"),
    ["-D", data, ...settings.flatMap((each) => ["-c", each])],
    as,
  );
  const ended = once(child, "exit");
  const stopNow = () => {
    child.kill("SIGQUIT");
    rmSync(data, { recursive: true, force: true });
  };
  process.on("exit", stopNow);
  const url = `postgresql://bench@127.0.0.1:${port}/postgres`;
  await untilItAnswers(url, () => child.exitCode !== null);
  return {
    url,
    async stop() {
      child.kill("SIGINT");
      await ended;
      process.off("exit", stopNow);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** The folder of the newest server among this machine's packages, or in PATH. */
function findPostgres(): string {
  const packages = "/usr/lib/postgresql";
  const versions = existsSync(packages) ? readdirSync(packages).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = versions.map((version) => path.join(packages, version, "bin"));
  const found = [...folders, ...(process.env["PATH"] ?? "").split(path.delimiter)].find((folder) =>
    ["initdb", "postgres"].every((program) => existsSync(path.join(folder, program))),
  );
  if (found) return found;
  throw new Error(
    "There is no PostgreSQL here. Install one (Debian: apt-get install postgresql), put its bin folder into PATH, or\n" +
      "set BENCH_DATABASE_URL to one whose role may create databases: postgresql://user@host/postgres",
  );
}

function idsOf(user: string): { uid: number; gid: number } {
  const ask = (what: string) => Number(execFileSync("id", [what, user], { encoding: "utf8" }));
  return { uid: ask("-u"), gid: ask("-g") };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function untilItAnswers(url: string, hasEnded: () => boolean): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (hasEnded() || attempt === 100) throw new Error("PostgreSQL did not start.", { cause: error });
      await sleep(100);
    }
  }
}
