import { createHash } from "node:crypto";
import { lstat, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import lockfile from "proper-lockfile";

/** The limit is 108 bytes on Linux and 104 on macOS, including the terminating zero. */
const LONGEST_SOCKET_PATH = 100;
const RETRY_MS = 20;
const LONGEST_WAIT_MS = 10_000;

/** Thrown because two sandboxes on one file would overwrite each other's state. */
export class StateFileInUse extends Error {
  constructor(path: string, sign: string) {
    super(
      `${path} is kept by another sandbox that is running: end that one, or give this one another file. If none is running, delete ${sign}, the sign of one that another user may have left.`,
    );
    this.name = "StateFileInUse";
  }
}

/**
 * Makes this process the only sandbox on a state file, and returns a function that releases it. Throws
 * {@link StateFileInUse}. A socket beside the file shows that it is in use: while its owner lives, even stopped, the
 * operating system accepts connections to it, and as soon as the owner dies, for any reason, it refuses them. So a
 * sandbox that was killed can be restarted at once. Where no socket can be made, as in some shared folders, nothing is
 * locked.
 *
 * If several start at once after one was killed, a later one could remove the new socket of an earlier one instead of
 * the old socket: a lock file guards these few milliseconds.
 */
export async function ownStateFile(path: string): Promise<() => Promise<void>> {
  const socketPath = socketPathOf(path);
  const guard = await enterAlone(path, socketPath);
  const server = await becomeOwner().finally(() => guard.leave());
  if (server === null) return () => Promise.resolve();
  return () => new Promise((left) => void server.close(() => left()));

  async function becomeOwner() {
    const first = await listen(socketPath);
    if (first !== "taken") return first;
    if ((await isOwned(socketPath)) || guard.isLost()) throw new StateFileInUse(path, socketPath);
    if (await isSocket(socketPath)) await rm(socketPath, { force: true });
    const second = await listen(socketPath);
    if (second !== "taken") return second;
    if (await isSocket(socketPath)) throw new StateFileInUse(path, socketPath);
    return null; // A file that only has the name of the lock: it stays, and there is no lock.
  }
}

/**
 * Takes the lock file. One left by a process that was killed in these milliseconds is stale after 5 seconds, and others
 * wait that long. Where no lock file can be made, nobody waits.
 */
async function enterAlone(
  path: string,
  socketPath: string,
): Promise<{ isLost(): boolean; leave(): Promise<void> }> {
  const lockfilePath = `${socketPath}.guard`;
  let isLost = false;
  const onCompromised = () => void (isLost = true);
  const options = { lockfilePath, realpath: false, stale: 5000, update: 1000, onCompromised };
  for (let tries = 0; tries < LONGEST_WAIT_MS / RETRY_MS; tries++) {
    try {
      const release = await lockfile.lock(socketPath, options);
      return { isLost: () => isLost, leave: () => release().catch(() => undefined) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ELOCKED")
        return { isLost: () => false, leave: () => Promise.resolve() };
    }
    await sleep(RETRY_MS);
  }
  throw new StateFileInUse(path, lockfilePath);
}

/** Beside the state file, or in the temporary folder if that path would be too long for a socket. */
function socketPathOf(path: string): string {
  const beside = `${resolve(path)}.lock`;
  if (Buffer.byteLength(beside) <= LONGEST_SOCKET_PATH) return beside;
  const name = createHash("sha256").update(beside).digest("hex").slice(0, 32);
  return join(tmpdir(), `sandbox-${name}.lock`);
}

/** Null if no socket can be made; "taken" if it exists. */
function listen(socketPath: string): Promise<Server | "taken" | null> {
  return new Promise((resolve) => {
    const server = createServer((probe) => probe.destroy());
    server.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "EADDRINUSE" ? "taken" : null),
    );
    server.listen(socketPath, () => resolve(server.unref()));
  });
}

function isOwned(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socketPath, () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT" && code !== "ENOTSOCK"),
    );
  });
}

async function isSocket(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
}
