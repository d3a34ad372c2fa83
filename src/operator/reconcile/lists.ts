import type { Context } from "../../context.ts";
import { messageOf } from "../../errors.ts";
import type { BackendResource } from "../../extend/contract.ts";
import { isJsonObject, parsedJson, readUuid } from "../../values.ts";
import { within } from "../../within.ts";
import { UsedWrongly } from "../errors.ts";
import { readInstallation } from "../resources.ts";
import { counted, planInWords } from "../wording.ts";
import type { How } from "../work-through.ts";
import type { Findings, Found } from "./differences.ts";
import { oursNamed, type OwnRow } from "./store.ts";
import { createUuidSet, MOST_UUIDS, type UuidSet } from "./uuid-set.ts";

// The two lists that the comparison reads: that of the platform's uuids on standard input, and that of the vendor's
// backend. Both are read to their end, in batches that are looked up in our ledger; kept of each are its uuids alone.

const BATCH = 1_000;
const MOST_CHARACTERS = 4 * 1024 * 1024;
/** A customer who went, or came, while a list was made is no difference. */
const YOUNG_SECONDS = 120;
/** The partner portal's export may be from this morning. */
const OLD_LIST_SECONDS = 24 * 3_600;
const MOST_SHOWN_LINES = 5;

export interface Listed {
  uuids: UuidSet;
  /** The list came to its end. */
  isWhole: boolean;
}

/** In batches, each when it is full: a text may be long. */
async function* batchesOf<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  let characters = 0;
  for await (const item of items) {
    batch.push(item);
    if (typeof item === "string") characters += item.length;
    if (batch.length < BATCH && characters < MOST_CHARACTERS) continue;
    yield batch;
    [batch, characters] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** The uuid at the beginning of a line, quoted or not, before whatever else a table has there; or of a JSON object. */
function uuidIn(line: string): string | null {
  const text = line.replace(/^\ufeff/, "").trim();
  if (!text.startsWith("{")) return readUuid(/^["']?([^\s"',;]{36})(?=$|[\s"',;])/.exec(text)?.[1]);
  const members = parsedJson(text);
  return readUuid(isJsonObject(members) ? members["uuid"] : null);
}

/**
 * Reads the platform's uuids, one a line. Throws {@link UsedWrongly} if there is none: then everything would differ, or
 * if there are more than can be held.
 */
export async function readPlatformList(
  ctx: Pick<Context, "db" | "offer">,
  lines: AsyncIterable<string>,
  findings: Findings,
  { signal }: Pick<How, "signal">,
): Promise<Listed> {
  const uuids = createUuidSet();
  let [line, unusable, twice] = [0, 0, 0];
  const shown: number[] = [];
  for await (const batch of batchesOf(lines)) {
    if (signal.aborted) break;
    const news = new Map<string, string>();
    for (const text of batch) {
      line += 1;
      const uuid = uuidIn(text);
      if (uuid === null && text.trim() === "") continue;
      if (uuid === null) {
        unusable += 1;
        if (shown.length < MOST_SHOWN_LINES) shown.push(line);
      } else if (uuids.add(uuid)) news.set(uuid, text);
      else twice += 1;
    }
    if (uuids.size() > MOST_UUIDS) throw new UsedWrongly(`The list has more than ${MOST_UUIDS} uuids.`);
    const rows = await oursNamed(ctx.db, [...news.keys()]);
    for (const [uuid, text] of news) findings.add(...ofTheList(ctx, uuid, rows.get(uuid), text, findings));
  }
  if (signal.aborted) findings.fault("The list was not read to its end.");
  else if (uuids.size() === 0)
    throw new UsedWrongly(
      "No uuid came on standard input: pipe the list of the partner portal, one uuid a line.",
    );
  if (unusable > 0) {
    const more = unusable > shown.length ? ", …" : "";
    findings.note(
      `${counted(unusable, "line")} of the list ${unusable === 1 ? "has" : "have"} no uuid at the beginning: line ${shown.join(", ")}${more}.`,
    );
  }
  if (twice > 0) findings.note(`${counted(twice, "line")} of the list named a uuid again.`);
  return { uuids, isWhole: !signal.aborted };
}

function ofTheList(
  { offer }: Pick<Context, "offer">,
  uuid: string,
  row: OwnRow | undefined,
  line: string,
  findings: Findings,
): Found[] {
  const theirs = "in the list";
  if (!row) {
    const read = line.includes("{") ? readInstallation(line, offer) : null;
    const installation = read && "plan" in read ? { installation: read } : {};
    return [{ uuid, kind: "unknown_here", ours: null, theirs, isUnseen: true, ...installation }];
  }
  const hasEnded = row.state === "deprovisioned" || row.state === "failed";
  if (!hasEnded) return [];
  if (row.plan === "" && row.state === "deprovisioned")
    return [{ uuid, kind: "unknown_here", ours: planInWords(row.plan), theirs }];
  if (row.quietSeconds < OLD_LIST_SECONDS) findings.leaveOut(uuid);
  else return [{ uuid, kind: "state_differs", ours: row.state, theirs }];
  return [];
}

/** Reads the list of the vendor's backend; null if there is none. Whatever goes wrong is a fault of the comparison. */
export async function readBackend(
  ctx: Pick<Context, "db" | "vendor" | "pace" | "scrubber">,
  listed: Listed | null,
  findings: Findings,
  { signal }: Pick<How, "signal">,
): Promise<Listed | null> {
  const { vendor, pace } = ctx;
  if (!vendor.list) {
    findings.note("Your backend was not compared: your service has no list() (docs/extend-it.md).");
    return null;
  }
  const uuids = createUuidSet();
  const state = { items: 0, unusable: 0 };
  const ending = new AbortController();
  const end = () => ending.abort(signal.reason);
  signal.addEventListener("abort", end);
  try {
    const items = patient(vendor.list(ending.signal), pace.listMs, ending.signal, state);
    for await (const batch of batchesOf(items)) {
      const news = new Map<string, BackendResource>();
      for (const item of batch) {
        const about = typeof item === "string" ? { uuid: item } : item;
        const uuid = readUuid(about?.uuid);
        if (uuid === null) state.unusable += 1;
        else if (uuids.add(uuid)) news.set(uuid, about);
      }
      if (uuids.size() > MOST_UUIDS) throw new Error(`it named more than ${MOST_UUIDS} uuids`);
      const rows = await oursNamed(ctx.db, [...news.keys()]);
      for (const [uuid, about] of news)
        findings.add(...ofTheBackend(about, uuid, rows.get(uuid), listed, findings));
    }
    if (state.unusable > 0)
      findings.fault(
        `${state.unusable} of what your service's list() gave are no uuids: what they stand for was not compared.`,
      );
    return { uuids, isWhole: state.unusable === 0 };
  } catch (error) {
    const why = ctx.scrubber.scrub(messageOf(error));
    findings.fault(
      `The comparison with your backend is incomplete: your service's list() failed after ${state.items}: ${why}`,
    );
    return { uuids, isWhole: false };
  } finally {
    signal.removeEventListener("abort", end);
    ending.abort();
  }
}

/** Every item, unless the next one does not come in time, there is no end of them, or the work is stopped. */
async function* patient<Item>(
  items: AsyncIterable<Item>,
  ms: number,
  signal: AbortSignal,
  state: { items: number },
): AsyncGenerator<Item> {
  const late = () => new Error(`nothing came for ${ms / 1_000} s`);
  const iterator = items[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      if (signal.aborted) throw new Error("it was stopped");
      const next = await within(ms, Promise.resolve(iterator.next()), late);
      isOver = next.done === true;
      if (next.done) return;
      state.items += 1;
      // The same again and again is no progress either.
      if (state.items > 2 * MOST_UUIDS) throw new Error("it does not end");
      yield next.value;
    }
  } finally {
    // Not waited for: it may be what hangs.
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

const MOST_ABOUT = 200;

function ofTheBackend(
  { uuid: _, ...about }: BackendResource,
  uuid: string,
  row: OwnRow | undefined,
  listed: Listed | null,
  findings: Findings,
): Found[] {
  const words = Object.entries(about).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const theirs = ["in your backend", ...words].join(", ").slice(0, MOST_ABOUT);
  const kind = "orphan_at_backend";
  if (!row) {
    // Also the platform's: then it is not the backend that has too much.
    if (listed?.uuids.has(uuid)) return [];
    return [{ uuid, kind, ours: null, theirs, isUnseen: true, isUnlisted: listed?.isWhole === true }];
  }
  const hasEnded = row.state === "deprovisioned" || row.state === "failed";
  if (!hasEnded || row.isUnderWay) return [];
  if (row.quietSeconds < YOUNG_SECONDS) findings.leaveOut(uuid);
  else return [{ uuid, kind, ours: row.state, theirs, isUnlisted: true }];
  return [];
}
