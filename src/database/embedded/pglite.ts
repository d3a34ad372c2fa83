import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import type { PGlite } from "@electric-sql/pglite";
import { applyMigrations, pendingMigrations } from "../migrate.ts";
import { listen } from "./ownership.ts";
import { createSessionMultiplexer } from "./session-multiplexer.ts";

/**
 * V8 compiles a WebAssembly function quickly, and again with all its optimisations once it has run through about this
 * many bytes of its code. Node 20 does so at 1,800,000: by then PostgreSQL has only just started, and optimising
 * hundreds of its functions takes a short command a third of its processor time. Later versions wait for 13,000,000. A
 * service that runs for longer still has its busiest functions optimised.
 */
const WASM_TIERING_BUDGET = 20_000_000;

/**
 * Opens PGlite on the folder's data, and brings that up to date. New data is made in another folder, which is renamed
 * when it is complete: making it takes seconds, and the half-made data of a process that was killed could not be
 * opened.
 */
export async function openPglite(folder: string): Promise<PGlite> {
  const data = path.join(folder, "data");
  if (!existsSync(data)) {
    const unfinished = `${data}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    const made = await openAndMigrate(unfinished, folder);
    await made.close();
    await rename(unfinished, data);
  }
  return openAndMigrate(data, folder);
}

async function openAndMigrate(dataDir: string, folder: string): Promise<PGlite> {
  setFlagsFromString(`--wasm-tiering-budget=${WASM_TIERING_BUDGET}`);
  const { PGlite } = await import("@electric-sql/pglite");
  const pglite = await PGlite.create({ dataDir });
  try {
    await migrate(pglite, folder);
    return pglite;
  } catch (error) {
    await pglite.close();
    throw error;
  }
}

/**
 * Prisma's engine connects over a socket, like every client; over one of its own, because the others must wait
 * meanwhile.
 */
async function migrate(pglite: PGlite, folder: string): Promise<void> {
  const pending = await pendingMigrations({
    query: async ({ text }) => (await pglite.query(text)).rows as never,
  });
  if (pending.length === 0) return;
  const turns = createSessionMultiplexer({ pglite });
  const port = 1;
  const door = await listen(path.join(folder, `.s.PGSQL.${port}`), turns.welcome);
  try {
    await applyMigrations({ host: folder, port, user: "postgres", database: "postgres" });
  } finally {
    turns.stop();
    door.close();
  }
}
