import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

/** The name that `pg` looks for in the folder it is given as `host`. */
export const SOCKET_NAME = ".s.PGSQL.5432";

/** 108 bytes on Linux, 104 on macOS, the closing zero included. */
const LONGEST_SOCKET_PATH = 100;

/**
 * The same folder under a path that is short enough for a socket in it: the operating system's limit is far below that
 * of other paths. A long one is reached through a link of our own in the temporary folder.
 */
export async function shortPath(folder: string): Promise<{ path: string; forget(): Promise<void> }> {
  if (Buffer.byteLength(path.join(folder, SOCKET_NAME)) <= LONGEST_SOCKET_PATH) {
    return { path: folder, forget: async () => undefined };
  }
  // A folder that only we can write to: nobody else can make the link point elsewhere.
  const own = await mkdtemp(path.join(tmpdir(), "addon-"));
  await symlink(folder, path.join(own, "db"), "dir");
  return { path: path.join(own, "db"), forget: () => rm(own, { recursive: true, force: true }) };
}
