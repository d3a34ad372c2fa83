import { chmodSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import lockfile from "proper-lockfile";
import { SOCKET_NAME } from "./socket-path.ts";

/**
 * Makes this process the owner of the folder, or gives undefined if another one is: one process at a time may have the
 * folder open. The socket in it is the lock: as long as its owner lives, even blocked or stopped, the operating system
 * accepts connections to it; from the moment it dies, however it died, it refuses them. So a dead owner is recognised
 * at once, and a busy one is never taken for dead, which a lock that is kept alive by a timer cannot promise.
 *
 * Becoming owner takes three steps (check that no owner answers, remove a left socket, listen), which only one process
 * may take at a time: a lock file guards these few milliseconds.
 */
export async function becomeOwner(
  folder: string,
  onConnection: (socket: Socket) => void,
): Promise<Server | undefined> {
  const socketPath = path.join(folder, SOCKET_NAME);
  const guard = await enterAlone(folder);
  try {
    if (await isOwned(folder)) return undefined;
    if (guard.isLost()) return undefined;
    return await listen(socketPath, onConnection);
  } finally {
    await guard.leave();
  }
}

/** Makes the folder, for this user only. Synchronous, so that no pending call makes it again while the process ends. */
export function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

/** Does a living process own the folder? Only a refused connection, or no socket at all, means no. */
export function isOwned(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path.join(folder, SOCKET_NAME), () => {
      probe.destroy();
      resolve(true);
    });
    probe.on("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT"),
    );
  });
}

/** Listens on a socket, in place of one that a dead process may have left. */
export async function listen(socketPath: string, onConnection: (socket: Socket) => void): Promise<Server> {
  await rm(socketPath, { force: true });
  return new Promise((resolve, reject) => {
    const server = createServer(onConnection);
    server.once("error", reject);
    server.listen(socketPath, () => resolve(server));
  });
}

async function enterAlone(folder: string): Promise<{ isLost(): boolean; leave(): Promise<void> }> {
  let isLost = false;
  const release = await lockfile.lock(folder, {
    lockfilePath: path.join(folder, "owner.lock"),
    realpath: false,
    stale: 5000,
    update: 1000,
    retries: { retries: 100, factor: 1, minTimeout: 50, maxTimeout: 100 },
    onCompromised: () => (isLost = true),
  });
  return { isLost: () => isLost, leave: () => release().catch(() => undefined) };
}
