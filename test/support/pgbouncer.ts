import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "../../packages/conformance/free-port.ts";

/** A connection pooler in front of a database, to be closed by the test that started it. */
interface Pooler {
  /** The database's URL through the pooler. */
  url: string;
  close(): Promise<void>;
}

/** The path of PgBouncer on this machine; undefined if it is not installed. */
export const pgBouncerPath = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"].find(
  (file) => existsSync(file),
);

/** Starts PgBouncer in front of the PostgreSQL at `databaseUrl`, with these settings beside the necessary ones. */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
): Promise<Pooler> {
  if (pgBouncerPath === undefined) throw new Error("There is no PgBouncer here.");
  const { hostname, port, username, password } = new URL(databaseUrl);
  const folder = await mkdtemp(path.join(tmpdir(), "pgbouncer-"));
  const [configuration, users] = [path.join(folder, "pgbouncer.ini"), path.join(folder, "users")];
  const ownPort = await freePort();
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: ownPort,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: users,
    ...settings,
  };
  // Clients need no password; with this one it logs in at the server.
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  await writeFile(
    configuration,
    [
      "[databases]",
      `* = host=${hostname} port=${port || 5432}`,
      "[pgbouncer]",
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
    ].join("\n"),
  );
  // It does not run as root: it becomes this user, who must be able to read what is in the folder.
  const asWhom = process.getuid?.() === 0 ? ["-u", "postgres"] : [];
  await chmod(folder, 0o755);
  const pooler = spawn(pgBouncerPath, [...asWhom, configuration], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => pooler.once("close", resolve));
  await new Promise<void>((resolve, reject) => {
    let said = "";
    pooler.stderr.on("data", (bytes: Buffer) => {
      said += bytes.toString();
      if (said.includes("process up")) resolve();
    });
    pooler.once("error", reject);
    pooler.once("close", () => reject(new Error(`PgBouncer ended: ${said}`)));
  }).catch(async (error: unknown) => {
    await rm(folder, { recursive: true });
    throw error;
  });
  const url = new URL(databaseUrl);
  [url.hostname, url.port] = ["127.0.0.1", String(ownPort)];
  return {
    url: url.href,
    async close() {
      pooler.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
