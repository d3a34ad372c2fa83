import type { Queryable } from "../../database/database.ts";
import type { Offer } from "../../resources/contract.ts";
import { importResources, type Installation } from "../../resources/end-store.ts";
import type { Vault } from "../../vault/vault.ts";
import type { OnProgress } from "../progress.ts";
import { readInstallation, type BadLine } from "./read-installation.ts";

/** A line of the input. `text` is null if the line is not UTF-8. */
export interface InputLine {
  number: number;
  text: string | null;
}

export interface Skipped {
  /** The line's number, the first being 1. */
  line: number;
  uuid: string | null;
  /** `exists`: the uuid is stored already, or an earlier line named it; anything else is a fault of the line. */
  reason: "exists" | BadLine["reason"];
}

export interface ImportReport {
  imported: number;
  skipped: Skipped[];
}

/** How many resources are written in one batch. */
const BATCH_SIZE = 500;

/**
 * Imports installations from before the kit, in batches; each batch is written whole or not at all. Resources that
 * exist are skipped, so a run that was stopped is simply repeated. Nothing is sent anywhere.
 */
export async function importInstallations(
  needs: { db: Queryable; vault: Vault; offer: Offer; signal: AbortSignal; onProgress?: OnProgress },
  lines: AsyncIterable<InputLine>,
): Promise<ImportReport> {
  const { db, vault, offer, signal, onProgress } = needs;
  const report: ImportReport = { imported: 0, skipped: [] };
  let batch = new Map<string, { line: number; installation: Installation }>();

  function take({ number, text }: InputLine): void {
    const read = text === null ? unreadable : readInstallation(text, offer);
    if ("reason" in read) report.skipped.push({ line: number, ...read });
    else if (batch.has(read.uuid)) report.skipped.push(existing(number, read.uuid));
    else batch.set(read.uuid, { line: number, installation: read });
  }

  async function write(): Promise<void> {
    const rows = [...batch.values()];
    batch = new Map();
    const born = await importResources(
      { db, vault },
      rows.map(({ installation }) => installation),
    );
    report.imported += born.size;
    for (const { line, installation } of rows)
      if (!born.has(installation.uuid)) report.skipped.push(existing(line, installation.uuid));
  }

  const tell = (total: number) => onProgress?.(report.imported + report.skipped.length, total);

  let last = 0;
  for await (const line of lines) {
    if (signal.aborted) break;
    last = line.number;
    if (line.text?.trim() === "") continue;
    take(line);
    if (batch.size < BATCH_SIZE) continue;
    tell(last);
    await write();
    tell(last);
  }
  if (batch.size > 0) await write();
  tell(last);
  report.skipped.sort((one, other) => one.line - other.line);
  return report;
}

/** Whether every line was imported, now or before. */
export function isWhole({ skipped }: ImportReport): boolean {
  return skipped.every(({ reason }) => reason === "exists");
}

const unreadable: BadLine = { uuid: null, reason: "not_json" };

function existing(line: number, uuid: string): Skipped {
  return { line, uuid, reason: "exists" };
}
