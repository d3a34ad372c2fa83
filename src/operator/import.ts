import type { Context } from "../context.ts";
import { isJsonObject, parsedJson } from "../json-object.ts";
import type { Offer } from "../resources/contract.ts";
import { importResources, type Installation } from "../resources/end-store.ts";
import { readUuid } from "../uuid.ts";
import type { How } from "./work-through.ts";

/** Why a line is skipped. `exists`: the uuid is stored already, or an earlier line named it. */
type Reason = "exists" | "not_json" | "no_uuid" | "no_plan" | "unknown_plan" | "bad_text";

interface ImportReport {
  imported: number;
  /** The first line has number 1. */
  skipped: { line: number; uuid: string | null; reason: Reason }[];
}

/** How many resources are written in one batch. */
const BATCH_SIZE = 500;

/**
 * Imports installations from before the kit, one JSON object a line, in batches; each batch is written whole or not at
 * all. Resources that exist are skipped, so a run that was stopped is simply repeated. Nothing is sent anywhere.
 */
export async function importInstallations(
  ctx: Pick<Context, "db" | "vault" | "offer">,
  lines: AsyncIterable<string>,
  { signal, onProgress }: How,
): Promise<ImportReport> {
  const report: ImportReport = { imported: 0, skipped: [] };
  const batch = new Map<string, Installation & { line: number }>();
  let line = 0;

  async function write(): Promise<void> {
    const born = await importResources(ctx, [...batch.values()]);
    report.imported += born.size;
    for (const { line, uuid } of batch.values())
      if (!born.has(uuid)) report.skipped.push({ line, uuid, reason: "exists" });
    batch.clear();
    onProgress?.(report.imported + report.skipped.length, line);
  }

  for await (const text of lines) {
    if (signal.aborted) break;
    line += 1;
    if (text.trim() === "") continue;
    const read = readInstallation(text, ctx.offer);
    if ("reason" in read) report.skipped.push({ line, ...read });
    else if (batch.has(read.uuid)) report.skipped.push({ line, uuid: read.uuid, reason: "exists" });
    else batch.set(read.uuid, { line, ...read });
    if (batch.size === BATCH_SIZE) await write();
  }
  if (batch.size > 0) await write();
  report.skipped.sort((one, other) => one.line - other.line);
  return report;
}

/**
 * One line of an import, `{uuid, plan, region?, name?}`; further members are ignored. The plan is the bare name or, as
 * the platform's API writes it, `service:plan`. It must be on offer: the vendor's functions are called with it later.
 */
function readInstallation(
  text: string,
  offer: Offer,
): Installation | { uuid: string | null; reason: Reason } {
  const members = text.includes("\ufffd") ? undefined : parsedJson(text);
  if (!isJsonObject(members)) return { uuid: null, reason: "not_json" };
  const { uuid: typed, plan: named, region = null, name = null } = members;
  const uuid = readUuid(typeof typed === "string" ? typed.trim() : null);
  if (!uuid) return { uuid: null, reason: "no_uuid" };
  const plan = typeof named === "string" ? named.replace(/^[^:]*:/, "") : "";
  if (plan === "") return { uuid, reason: "no_plan" };
  if (!Object.hasOwn(offer.plans, plan)) return { uuid, reason: "unknown_plan" };
  if (!isKeepable(region) || !isKeepable(name)) return { uuid, reason: "bad_text" };
  return { uuid, plan, region, name };
}

/** Whether a member is absent, or a text that PostgreSQL can store unchanged. */
function isKeepable(value: unknown): value is string | null {
  return value === null || (typeof value === "string" && !value.includes("\0") && value.isWellFormed());
}
