import type { Socket } from "node:net";
import type { DatabaseLog } from "../types.ts";
import { becomeOwner } from "./ownership.ts";
import { openPglite } from "./pglite.ts";
import { createSessionMultiplexer } from "./session-multiplexer.ts";

/** A process that has the folder open and serves it to all, itself included. */
export type Owner = { close(): Promise<void> };

type Needs = {
  folder: string;
  log: DatabaseLog;
  /**
   * PGlite failed and was closed; the next process that connects opens the folder again, as after a crash of
   * PostgreSQL.
   */
  onCrash(): void;
};

/**
 * Opens the folder, unless another process has it open. Clients that connect meanwhile wait until it is migrated.
 *
 * @returns undefined if another process has it open
 */
export async function openOwner({ folder, log, onCrash }: Needs): Promise<Owner | undefined> {
  const early: Socket[] = [];
  let welcome = (socket: Socket): void => void early.push(socket.on("error", () => undefined));
  const door = await becomeOwner(folder, (socket) => welcome(socket));
  if (!door) return undefined;
  const closeDoor = () => new Promise<void>((resolve) => void door.close(() => resolve()));

  try {
    const pglite = await openPglite(folder);
    let closing: Promise<void> | undefined;

    /** PGlite first, the socket last: as long as a process answers there, no other may open the folder. */
    const close = (): Promise<void> =>
      (closing ??= (async () => {
        welcome = (socket) => void socket.destroy();
        turns.stop();
        await pglite
          .close()
          .catch((err: unknown) => log.warn({ err }, "the embedded database did not close cleanly"));
        await closeDoor();
      })());

    const turns = createSessionMultiplexer({
      pglite,
      onCrash: (err) => {
        log.warn({ err }, "the embedded database failed, and is opened anew");
        void close().then(onCrash);
      },
    });
    welcome = turns.welcome;
    early.forEach(welcome);
    return { close };
  } catch (error) {
    welcome = (socket) => void socket.destroy();
    early.forEach(welcome);
    await closeDoor();
    throw error;
  }
}
