import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "../driver.ts";
import { Misconfigured } from "../../errors.ts";
import type { DatabaseLog } from "../types.ts";
import { openOwner, type Owner } from "./owner.ts";
import { makeFolder } from "./ownership.ts";
import { shortPath } from "./socket-path.ts";

type Needs = {
  dataDir: string;
  role: "owner" | "guest";
  log: DatabaseLog;
  /** How long an owner waits for a command that has the folder open to finish, in ms. */
  waitMs?: number;
};

/** In ms. A query also waits for those of all other clients, and a connection for the database to be opened. */
const PATIENCE = { connectionTimeoutMillis: 15_000, query_timeout: 8000 };

/**
 * The embedded database: PGlite, in `dataDir`/postgresql. The process that owns the folder serves it on a socket in it,
 * to which all processes connect, the owner too. The owner is the web process, or, while none runs, the first command
 * of the command line; when an owner ends, the next guest that connects takes its place.
 *
 * @throws Misconfigured if this process must be the owner and another one is, or the folder cannot be made
 */
export async function openEmbedded({ dataDir, role, log, waitMs = 10_000 }: Needs) {
  const real = path.resolve(dataDir, "postgresql");
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    makeFolder(real);
  } catch (error) {
    tellWhichSetting(error as Error);
  }
  const short = await shortPath(real);
  let owner: Owner | undefined;
  let becoming: Promise<void> | undefined;
  let isClosed = false;

  async function become(): Promise<void> {
    owner = await openOwner({ folder: short.path, log, onCrash: () => (owner = undefined) });
  }

  /** Makes sure that a process serves the folder: this one, if no other does. */
  async function ensureServed(): Promise<void> {
    if (owner || isClosed) return;
    becoming ??= become().finally(() => (becoming = undefined));
    await becoming;
  }

  async function close(): Promise<void> {
    isClosed = true;
    await becoming?.catch(() => undefined);
    await owner?.close();
    await short.forget();
  }

  try {
    const deadline = performance.now() + waitMs;
    await ensureServed();
    while (role === "owner" && !owner) {
      if (performance.now() > deadline) throw inUse(dataDir);
      await sleep(200);
      await ensureServed();
    }
  } catch (error) {
    await close();
    throw error;
  }

  const Client = clientThatFindsAnOwner(ensureServed);
  const address = {
    host: short.path,
    port: 5432,
    user: "postgres",
    database: "postgres",
    Client,
    ...PATIENCE,
  };
  return { address, close };
}

/** A connection that, if the owner has gone, makes this process the owner before it connects. */
function clientThatFindsAnOwner(ensureServed: () => Promise<void>): typeof pg.Client {
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | void {
      if (!callback) return ensureServed().then(() => super.connect());
      ensureServed().then(() => super.connect(callback), callback);
    }
  };
}

function inUse(dataDir: string): Misconfigured {
  return new Misconfigured(
    `DATA_DIR (${dataDir}) is open in another service, or in a kit command: stop the one, let the other end, or give this service a DATA_DIR of its own`,
  );
}

function tellWhichSetting(cause: Error): never {
  throw new Misconfigured(`DATA_DIR cannot hold the embedded database: ${cause.message}`, { cause });
}
