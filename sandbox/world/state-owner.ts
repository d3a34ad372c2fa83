import { createHash } from "node:crypto";
import { lstat, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** 108 bytes on Linux, 104 on macOS, the closing zero included. */
const LONGEST_SOCKET_PATH = 100;

/** Two sandboxes on one file would each overwrite what the other keeps. */
export class StateFileInUse extends Error {
  constructor(path: string) {
    super(`${path} is kept by another sandbox that is running: end that one, or give this one another file.`);
    this.name = "StateFileInUse";
  }
}

/**
 * Becomes the only sandbox on a state file; returns how to let go of it. Throws {@link StateFileInUse}. The sign of it is
 * a socket beside the file: as long as its owner lives, even stopped, the operating system accepts connections to it,
 * and from the moment it dies, however it died, it refuses them. So one that was killed can be started again at once.
 * Where no socket can be made, as in some shared folders, nobody is kept away.
 */
export async function ownStateFile(path: string): Promise<() => Promise<void>> {
  const socketPath = socketPathOf(path);
  let server = await listen(socketPath);
  if (server === "taken") {
    if (await isOwned(socketPath)) throw new StateFileInUse(path);
    if (await isSocket(socketPath)) await rm(socketPath, { force: true });
    server = await listen(socketPath);
  }
  const sign = server;
  if (sign === null || sign === "taken") return () => Promise.resolve();
  return () => new Promise((left) => void sign.close(() => left()));
}

/** Beside the file, but where the operating system would cut so long a path short. */
function socketPathOf(path: string): string {
  const beside = `${resolve(path)}.lock`;
  if (Buffer.byteLength(beside) <= LONGEST_SOCKET_PATH) return beside;
  const name = createHash("sha256").update(beside).digest("hex").slice(0, 32);
  return join(tmpdir(), `sandbox-${name}.lock`);
}

/** Null where no socket can be made. */
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
