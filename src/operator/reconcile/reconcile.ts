import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../../context.ts";
import { messageOf } from "../../errors.ts";
import { listMarks } from "../../ledgers/store.ts";
import { counted } from "../wording.ts";
import type { How } from "../work-through.ts";
import { askAbout, canBeAsked, platformToAsk, type Word } from "./ask-platform.ts";
import { createFindings, type Findings, type Found } from "./differences.ts";
import { judge } from "./judge.ts";
import { keepComparison } from "./keep-comparison.ts";
import { type Listed, readBackend, readPlatformList } from "./lists.ts";
import { stillSo } from "./still-so.ts";
import { countOurs, oursAfter, type OwnRow, PAGE_SIZE } from "./store.ts";

// Compares what the platform has, what we have, and what the vendor's backend has. It changes nothing, and stores what it
// found for the operator's page.

export interface Wish {
  /** The platform's uuids, one a line; null: the platform is asked about each resource instead. */
  lines: AsyncIterable<string> | null;
  /** Goes on after this resource: the end of a comparison that was stopped. */
  after: string | null;
  /** So many resources a second are asked about. */
  rate: number;
}

export interface Comparison {
  findings: Findings;
  /** So many of ours were compared. */
  checked: number;
  alive: number;
  /** After this one the comparison goes on (`after`); null: it came to its end. */
  next: string | null;
  listed: Listed | null;
  backend: Listed | null;
}

/** With a list, the platform is asked about all of so few; of more, only about those that the list lacks. */
const FEW = 500;
const MOST_ASKED_BEYOND_A_LIST = 200;

export async function reconcile(ctx: Context, { lines, after, rate }: Wish, how: How): Promise<Comparison> {
  const findings = createFindings();
  const startedMs = performance.now();
  const kept = await keepComparison(ctx, findings, { isListed: lines !== null, after });
  const listed = lines && (await readPlatformList(ctx, lines, findings, how));
  const backend = how.signal.aborted ? null : await readBackend(ctx, listed, findings, how);
  await addNoticed(ctx, findings);
  const alive = await countOurs(ctx.db, null);
  const isAskedAboutAll = !listed || alive <= FEW;
  const asker = createAsker(ctx, findings, how, {
    rate,
    most: isAskedAboutAll ? Infinity : MOST_ASKED_BEYOND_A_LIST,
  });
  let checked = 0;
  let next = after;
  let hasEnded = false;
  const total = await countOurs(ctx.db, after);
  how.onProgress?.(0, total);
  const isUnlisted = ({ uuid }: OwnRow) => listed?.isWhole === true && !listed.uuids.has(uuid);
  const pages = chunksOf(oursAfter(ctx.db, after), isAskedAboutAll ? asker.atOnce : PAGE_SIZE);
  for await (const { rows: page, readMs } of pages) {
    if (how.signal.aborted) break;
    const words = await asker.ask(page, (row) => isAskedAboutAll || isUnlisted(row));
    if (words === "down") break;
    const found = page.flatMap((row, at) => {
      const missing = isMissing(row, backend, (readMs - startedMs) / 1_000);
      const judged = judge(ctx, row, words[at]!, isUnlisted(row));
      if (judged === "too_young") findings.leaveOut(row.uuid);
      return [...(judged === "too_young" ? [] : judged), ...missing];
    });
    findings.add(...(await stillSo(ctx, found)));
    checked += page.length;
    next = page.at(-1)!.uuid;
    how.onProgress?.(checked, total);
    await kept.advance({ checked, total, next });
    hasEnded = checked >= total;
  }
  hasEnded ||= total === 0;
  await dropWhatEnded(ctx, findings);
  nameBoth(findings, backend);
  asker.report();
  if (listed && !isAskedAboutAll)
    findings.note(
      `Plans, apps and config vars were not compared: of ${alive} resources that takes long. kit reconcile without a list does.`,
    );
  const isStopped = !hasEnded && (how.signal.aborted || asker.isDown());
  const end = isStopped ? (next ?? FIRST) : null;
  await kept.end({ checked, next: end, backend: backend?.uuids.size() ?? null });
  return { findings, checked, alive, next: end, listed, backend };
}

/** Before all. */
const FIRST = "00000000-0000-0000-0000-000000000000";

/** `readMs`: when the rows were read, which may be long before the platform was asked about them. */
async function* chunksOf(
  pages: AsyncIterable<OwnRow[]>,
  size: number,
): AsyncGenerator<{ rows: OwnRow[]; readMs: number }> {
  for await (const page of pages) {
    const readMs = performance.now();
    for (let at = 0; at < page.length; at += size) yield { rows: page.slice(at, at + size), readMs };
  }
}

/** Those that the service noticed by itself, and that no list has named. */
async function addNoticed({ db }: Context, findings: Findings): Promise<void> {
  const named = new Set(findings.named().map(({ uuid }) => uuid));
  for (const { uuid, kind, request, plan } of await listMarks(db))
    if (kind === "unknown_resource" && request === "PUT" && !named.has(uuid))
      findings.add({
        uuid,
        kind: "unknown_here",
        ours: null,
        theirs: `asked for plan ${plan ?? "?"}`,
        isUnseen: true,
      });
}

/** A list that was read to its end after the resource was there. `elapsedSeconds`: from the beginning until the row was read. */
function isMissing(row: OwnRow, backend: Listed | null, elapsedSeconds: number): Found[] {
  const { uuid, state, isUnderWay } = row;
  if (!backend?.isWhole || backend.uuids.has(uuid)) return [];
  if (state !== "provisioned" || isUnderWay || row.quietSeconds < elapsedSeconds) return [];
  return [{ uuid, kind: "missing_at_backend", ours: `${state}, ${row.plan}`, theirs: null }];
}

/** What the lists brought was compared with our ledger as it was then. */
async function dropWhatEnded(ctx: Context, findings: Findings): Promise<void> {
  const isOfLists = ({ kind }: Found) =>
    ["unknown_here", "orphan_at_backend", "state_differs"].includes(kind);
  const ended = new Set<Found>();
  const all = findings.named().filter(isOfLists);
  for (let at = 0; at < all.length; at += PAGE_SIZE) {
    const some = all.slice(at, at + PAGE_SIZE);
    const left = new Set(await stillSo(ctx, some));
    for (const each of some) if (!left.has(each)) ended.add(each);
  }
  findings.keep((each) => !ended.has(each));
}

/** What the platform has and we have not is no orphan of the backend's, which may well have it. */
function nameBoth(findings: Findings, backend: Listed | null): void {
  for (const found of findings.named())
    if (found.kind === "unknown_here" && backend?.uuids.has(found.uuid))
      found.theirs = `${found.theirs}, and in your backend`;
}

/** So many in a row without an answer: the platform is down. */
const DOWN_AFTER = 5;

function createAsker(
  ctx: Context,
  findings: Findings,
  { signal }: How,
  { rate, most }: { rate: number; most: number },
) {
  const platformFor = platformToAsk(ctx);
  let [asked, mute, troubled, inARow] = [0, 0, 0, 0];
  let isDown = false;
  let lastTrouble = "";

  function count(word: Word): void {
    if (word.is === "mute") mute += 1;
    if (word.is !== "trouble") return void (inARow = word.is === "mute" ? inARow : 0);
    troubled += 1;
    inARow += 1;
    lastTrouble = word.why;
  }

  return {
    atOnce: 8,
    isDown: () => isDown,
    /** What the platform says of each; null: it was not asked. `down`: it gives no answers, and these count as not asked. */
    async ask(
      rows: readonly OwnRow[],
      isWanted: (row: OwnRow) => boolean,
    ): Promise<(Word | null)[] | "down"> {
      const begunMs = performance.now();
      let sent = 0;
      const before = { mute, troubled };
      const words = await Promise.all(
        rows.map(async (row) => {
          if (!isWanted(row) || asked >= most) return null;
          asked += 1;
          if (canBeAsked(row)) sent += 1;
          return askAbout(ctx, platformFor, row, signal).catch((error: unknown): Word => ({
            is: "trouble",
            why: messageOf(error),
          }));
        }),
      );
      for (const word of words) if (word) count(word);
      if (inARow >= DOWN_AFTER) {
        isDown = true;
        ({ mute, troubled } = before);
        return "down";
      }
      // A low rate: the platform has others to serve.
      const restMs = (sent * 1_000) / rate - (performance.now() - begunMs);
      if (restMs > 0) await sleep(restMs, undefined, { signal }).catch(() => undefined);
      return words;
    },
    report(): void {
      if (isDown) findings.fault(`The platform gives no answers: ${lastTrouble}.`);
      if (troubled > 0)
        findings.fault(
          `${counted(troubled, "resource")} could not be compared, as the platform gave no answer; the last: ${lastTrouble}.`,
        );
      if (mute > 0)
        findings.note(
          `About ${counted(mute, "resource")} the platform could not be asked, for want of working tokens or of access: compare with its list.`,
        );
    },
  };
}
