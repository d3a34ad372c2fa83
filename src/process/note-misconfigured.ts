import { randomUUID } from "node:crypto";
import os from "node:os";
import { readConfig, settings } from "../config.ts";
import { openDatabase } from "../database/database.ts";
import { readEnvironment } from "../environment.ts";
import { storable } from "../errors.ts";
import { type Role, writeMisconfigured } from "../processes/store.ts";
import { settingsIn } from "../setting.ts";
import { build } from "../version.ts";
import { within } from "../within.ts";
import { yourSettings } from "../your-service/settings.ts";

/** How long a process that cannot start waits for the database before it ends. */
const PATIENCE_MS = 1_000;

/**
 * Stores in the process's row that the process ends because of its settings, and the names of the settings at fault, so that
 * `kit processes` and the pages show them. If the row cannot be written, because the database's address is at fault, only the
 * process's own output names them. `id`: the id of the row, if the process has one.
 */
export async function noteMisconfigured(
  role: Role,
  message: string,
  id: string = randomUUID(),
): Promise<void> {
  const names = settingsIn({ ...settings, ...yourSettings })
    .map(({ name }) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(message));
  const why = names.length > 0 ? names.join(", ") : storable(message.split("\n")[0]!);
  const about = { id, role, host: os.hostname(), pid: process.pid, ...build };
  const ended = { ...about, why, upSeconds: process.uptime() };
  try {
    const { databaseUrl, databaseCa } = readConfig(readEnvironment(), ["databaseUrl", "databaseCa"]);
    const db = openDatabase({ url: databaseUrl.reveal(), ca: databaseCa, poolSize: 1 });
    await within(PATIENCE_MS, writeMisconfigured(db, ended), () => new Error("The database is late."));
  } catch {
    // The process ends, and its output names the fault.
  }
}
