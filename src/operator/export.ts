import type { Context } from "../context.ts";
import { messageOf } from "../errors.ts";
import { openConfig } from "../resources/config-vars.ts";
import type { Json } from "../values.ts";
import { resourceSealContext } from "../vault/vault.ts";
import { untilCut } from "../within.ts";
import { EXPORT_PAGE, type KeptOf, keptOf, type SealedOf, uuidsAfter } from "./export-store.ts";
import { recordsOf, type ResourceRecord } from "./resources.ts";

/**
 * All that is kept of one resource, without the tokens of the service. `config`: the names of its config vars, or with
 * their values; null if they cannot be decrypted. `incomplete`: what could not be read, and why; absent if all was.
 */
export type ExportLine = ResourceRecord &
  Omit<KeptOf, "uuid"> & {
    config: readonly string[] | Readonly<Record<string, string | null>> | null;
    logInputUrl?: string | null;
    logDrainToken?: string | null;
    /** What the vendor's service keeps of it. */
    yours: Json;
    incomplete?: string[];
  };

const LEAST_UUID = "00000000-0000-0000-0000-000000000000";
const YOURS_MS = 30_000;

async function* pagesOf(
  ctx: Pick<Context, "db">,
  which: readonly string[] | "all",
): AsyncGenerator<string[]> {
  if (which !== "all")
    for (let at = 0; at < which.length; at += EXPORT_PAGE) yield which.slice(at, at + EXPORT_PAGE);
  else
    for (let after = LEAST_UUID; ;) {
      const page = await uuidsAfter(ctx.db, after);
      if (page.length === 0) return;
      yield page;
      after = page.at(-1)!;
    }
}

/** In the order of their uuids, read page by page. A uuid that is not there has no line. */
export async function* exportResources(
  ctx: Context,
  which: readonly string[] | "all",
  { reveal, signal }: { reveal: boolean; signal: AbortSignal },
): AsyncGenerator<ExportLine> {
  for await (const page of pagesOf(ctx, which)) {
    const records = await recordsOf(ctx.db, page);
    const kept = new Map((await keptOf(ctx.db, page)).map((more) => [more.uuid, more]));
    for (const record of records) {
      if (signal.aborted) return;
      const more = kept.get(record.uuid);
      if (more) yield await lineOf(ctx, { ...record, ...more }, { reveal, signal });
    }
  }
}

async function lineOf(
  ctx: Context,
  { sealedConfig, sealedLogInputUrl, sealedLogDrainToken, ...stored }: ResourceRecord & KeptOf & SealedOf,
  { reveal, signal }: { reveal: boolean; signal: AbortSignal },
): Promise<ExportLine> {
  const incomplete: string[] = [];
  const { uuid } = stored;
  const sealed = { uuid, sealedConfig, sealedLogInputUrl, sealedLogDrainToken };
  let opened: ReturnType<typeof openedOf> | { config: null } = { config: null };
  try {
    opened = openedOf(ctx, sealed, reveal);
  } catch (error) {
    incomplete.push(`config: ${messageOf(error)}`);
  }
  const yours = await yoursOf(ctx, uuid, signal).catch((error: unknown) => {
    incomplete.push(`yours: ${ctx.scrubber.scrub(messageOf(error))}`);
    return null;
  });
  return { ...stored, ...opened, yours, ...(incomplete.length > 0 && { incomplete }) };
}

function openedOf({ vault }: Context, row: SealedOf, reveal: boolean) {
  const { uuid } = row;
  const vars = openConfig(vault, row).filter(({ value }) => value !== null);
  if (!reveal) return { config: vars.map(({ name }) => name) };
  const open = (column: "sealed_log_input_url" | "sealed_log_drain_token", sealed: Buffer | null) =>
    sealed && vault.open(resourceSealContext(column, uuid), sealed).reveal();
  return {
    config: Object.fromEntries(vars.map(({ name, value }) => [name, value])),
    logInputUrl: open("sealed_log_input_url", row.sealedLogInputUrl),
    logDrainToken: open("sealed_log_drain_token", row.sealedLogDrainToken),
  };
}

async function yoursOf({ vendor }: Context, uuid: string, signal: AbortSignal): Promise<Json> {
  const late = () => new Error(`your service's exportData() did not end in ${YOURS_MS / 1_000} s`);
  const limits = { ms: YOURS_MS, late, cuts: [signal] };
  const data = await untilCut(limits, async (ended) => (await vendor.exportData?.(uuid, ended)) ?? null);
  // What is no JSON would otherwise break off the whole export.
  return JSON.parse(JSON.stringify(data)) as Json;
}
