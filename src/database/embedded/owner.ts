import type { Socket } from "node:net";
import path from "node:path";
import pg from "pg";
import type { DatabaseLog } from "../database.ts";
import { applyMigrations, pendingMigrations } from "../migrate.ts";
import { becomeOwner, listen } from "./ownership.ts";
import { createTurns } from "./turns.ts";

/** A process that has the folder open and serves it to all, itself included. */
export type Owner = { close(): Promise<void> };

type Needs = { folder: string; log: DatabaseLog; onCrash(): void };

/**
 * Opens the folder, if nobody else has it open. Those who connect meanwhile wait at the door until it is migrated.
 *
 * @returns undefined if another process has it
 */
export async function openOwner({ folder, log, onCrash }: Needs): Promise<Owner | undefined> {
  const guests = new Set<Socket>();
  let welcome: ((socket: Socket) => void) | undefined;
  let isClosing = false;

  const door = await becomeOwner(folder, (socket) => {
    if (isClosing) return void socket.destroy();
    guests.add(socket.on("error", () => undefined).on("close", () => guests.delete(socket)));
    welcome?.(socket);
  });
  if (!door) return undefined;

  /** PGlite first, the socket last: as long as it answers, nobody else may open the folder. */
  async function close(closePglite: () => Promise<void>): Promise<void> {
    isClosing = true;
    for (const socket of guests) socket.destroy();
    await closePglite().catch((error: unknown) =>
      log.warn({ err: error }, "the embedded database did not close cleanly"),
    );
    await new Promise<void>((resolve) => void door?.close(() => resolve()));
  }

  let closePglite = (): Promise<void> => Promise.resolve();
  try {
    const { PGlite } = await import("@electric-sql/pglite");
    const pglite = await PGlite.create({ dataDir: path.join(folder, "data") });
    closePglite = () => pglite.close();
    const turns = createTurns({
      pglite,
      onCrash: (error) => {
        log.warn({ err: error }, "the embedded database failed and is opened anew");
        void close(closePglite).then(onCrash);
      },
    });
    await migrate(folder, turns);
    welcome = turns;
    for (const socket of guests) welcome(socket);
  } catch (error) {
    await close(closePglite);
    throw error;
  }
  return { close: () => close(closePglite) };
}

/** Through a door of its own, while the others wait. */
async function migrate(folder: string, welcome: (socket: Socket) => void): Promise<void> {
  const port = 1;
  const door = await listen(path.join(folder, `.s.PGSQL.${port}`), welcome);
  const address = { host: folder, port, user: "postgres", database: "postgres" };
  try {
    if (await isBehind(address)) await applyMigrations(address);
  } finally {
    door.close();
  }
}

async function isBehind(address: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client(address);
  await client.connect();
  try {
    const pending = await pendingMigrations({ query: async ({ text }) => (await client.query(text)).rows });
    return pending.length > 0;
  } finally {
    await client.end();
  }
}
