import type { Queryable } from "../database/database.ts";
import { isJsonObject, parsedJson, type JsonObject } from "../json-object.ts";
import type { Offer } from "../resources/contract.ts";
import { importResources, type Installation } from "../resources/end-store.ts";
import { readUuid } from "../uuid.ts";
import type { Vault } from "../vault/vault.ts";
import type { OnProgress } from "./work-through.ts";

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

/** What is wrong with a line, and its uuid if that could be read. */
interface BadLine {
  uuid: string | null;
  reason: "not_json" | "no_uuid" | "no_plan" | "unknown_plan" | "bad_text";
}

type ReadLine = Installation | BadLine;

/**
 * One line of an import, `{uuid, plan, region?, name?}`; further members are ignored. The plan is the bare name or, as
 * the platform's API writes it, `service:plan`. It must be on offer: the vendor's functions are called with it later.
 */
function readInstallation(line: string, offer: Offer): ReadLine {
  const members = membersOf(line);
  if (!members) return { uuid: null, reason: "not_json" };
  const uuid = readUuid(text(members["uuid"])?.trim());
  if (!uuid) return { uuid: null, reason: "no_uuid" };
  const plan = text(members["plan"])?.replace(/^[^:]*:/, "");
  if (!plan) return { uuid, reason: "no_plan" };
  if (!Object.hasOwn(offer.plans, plan)) return { uuid, reason: "unknown_plan" };
  const [region, name] = [members["region"] ?? null, members["name"] ?? null];
  if (!isKeepable(region) || !isKeepable(name)) return { uuid, reason: "bad_text" };
  return { uuid, plan, region, name };
}

function membersOf(line: string): JsonObject | null {
  const value = parsedJson(line);
  return isJsonObject(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Whether a member is absent, or a text that PostgreSQL can store unchanged. */
function isKeepable(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && !value.includes("\0") && value.isWellFormed());
}
