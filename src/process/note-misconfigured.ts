import { randomUUID } from "node:crypto";
import os from "node:os";
import { readConfig, settings } from "../config.ts";
import { openDatabase } from "../database/database.ts";
import { readEnvironment } from "../environment.ts";
import { storable } from "../errors.ts";
import { type Role, writeBeat } from "../processes/store.ts";
import type { Setting } from "../setting.ts";
import { build } from "../version.ts";
import { within } from "../within.ts";
import { yourSettings } from "../your-service/settings.ts";

/** A process that cannot start ends within three seconds, whatever the database does. */
const PATIENCE_MS = 1_000;

/**
 * Writes into the process's row that it ends with 78, and which settings are at fault: their names, never a value. If
 * that cannot be written, as when the database's own address is at fault, only what the process prints says it. `id`: of
 * its row, if it has one.
 */
export async function noteMisconfigured(
  role: Role,
  message: string,
  id: string = randomUUID(),
): Promise<void> {
  const names = Object.values<Setting<unknown>>({ ...settings, ...yourSettings })
    .map(({ name }) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(message));
  const why = names.length > 0 ? names.join(", ") : storable(message.split("\n")[0]!);
  const identity = { id, role, host: os.hostname(), pid: process.pid, ...build, keyId: null, keyIds: [] };
  const nothing = { refused: null, beats: 0, ahead: { database: null, platform: null } };
  const beat = { state: "misconfigured", why, upSeconds: process.uptime(), ...nothing } as const;
  try {
    const { databaseUrl, databaseCa } = readConfig(readEnvironment(), ["databaseUrl", "databaseCa"]);
    const db = openDatabase({ url: databaseUrl.reveal(), ca: databaseCa, poolSize: 1 });
    await within(PATIENCE_MS, writeBeat(db, identity, beat, 1), () => new Error("The database is late."));
  } catch {
    // The process ends; what it prints names the fault.
  }
}
