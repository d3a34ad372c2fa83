import { setTimeout as sleep } from "node:timers/promises";
import { errorIdOf, messageOf } from "../errors.ts";
import type { Context } from "../context.ts";
import { refreshNow } from "../credentials/refresh.ts";
import { failedUnknown, typedUuid } from "./errors.ts";
import { type OnProgress, rowsByUuid, workThrough } from "./work-through.ts";
import { countTokens, tokensAfter, tokensNamed, type FoundTokens } from "./store.ts";

/** The result of work on many resources: each is in one of the three lists, or counted in `left`. */
export interface TokenReport {
  done: string[];
  failed: { uuid: string; id: string; message: string }[];
  skipped: { uuid: string; reason: string }[];
  /** How many resources were not reached; only set if the work was stopped. */
  left?: number;
}

interface Needs extends Context {
  /** Calls to the token endpoint at once. */
  concurrency: number;
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

/** How long to wait for a token that another process is refreshing. */
const BUSY_PATIENCE_MS = 5_000;

/** Refreshes the tokens of the named resources now, due or not. Throws `UsedWrongly` for a malformed uuid. */
export async function refreshTokens(needs: Needs, typed: readonly string[]): Promise<TokenReport> {
  const uuids = [...new Set(typed.map(typedUuid))];
  const rows = await tokensNamed(needs.db, uuids);
  const known = new Map(rows.map((row) => [row.uuid, row]));
  const found = uuids.flatMap((uuid) => known.get(uuid) ?? []);
  const report = await refreshEach(needs, found, {
    total: found.length,
    // An operator named them, so tokens that the platform refused before or that do not open are tried too.
    isWanted: ({ state, hasRefreshToken }) =>
      state === "active" || state === "needs_reauth" || (state === "quarantined" && hasRefreshToken),
  });
  const unknown = uuids.filter((uuid) => !known.has(uuid));
  return { ...report, failed: [...report.failed, ...unknown.map(failedUnknown)] };
}

/** Refreshes the tokens of all resources that have working ones, page by page. */
export async function refreshAllTokens(needs: Needs): Promise<TokenReport> {
  const total = await countTokens(needs.db);
  const isWanted = ({ state }: FoundTokens) => state === "active";
  return refreshEach(
    needs,
    rowsByUuid((after) => tokensAfter(needs.db, after)),
    { total, isWanted },
  );
}

async function refreshEach(
  needs: Needs,
  rows: Iterable<FoundTokens> | AsyncIterable<FoundTokens>,
  { total, isWanted }: { total: number; isWanted(row: FoundTokens): boolean },
): Promise<TokenReport> {
  const report: TokenReport = { done: [], failed: [], skipped: [] };

  async function handle(row: FoundTokens): Promise<void> {
    const { uuid } = row;
    if (!isWanted(row)) return void report.skipped.push({ uuid, reason: row.state });
    // The platform sent no refresh token: the access token works until it expires.
    if (!row.hasRefreshToken) return void report.skipped.push({ uuid, reason: "no_refresh_token" });
    const failure = await refreshOne(needs, uuid);
    if (failure) report.failed.push({ uuid, ...failure });
    else report.done.push(uuid);
  }

  const { concurrency, signal, onProgress } = needs;
  const how = { concurrency, total, isHalted: () => signal.aborted, onProgress };
  const left = await workThrough(rows, handle, how);
  return signal.aborted ? { ...report, left } : report;
}

/** Refreshes one token. Answers null, or why it failed. */
async function refreshOne(needs: Needs, uuid: string): Promise<{ id: string; message: string } | null> {
  const { secrets } = needs.credentials;
  const until = performance.now() + BUSY_PATIENCE_MS;
  for (;;) {
    try {
      const result = await refreshNow(needs, uuid);
      if (result.done === "stored") return null;
      if (result.done === "failed") return result.failure.error;
      if (result.done === "quarantined") return quarantined;
      if (result.done === "not_ours") return overtaken;
      if ((await secrets.current()).isRejected) return secretRejected;
    } catch (error) {
      return { id: errorIdOf(error), message: messageOf(error) };
    }
    if (performance.now() > until || needs.signal.aborted) return busy;
    await sleep(100);
  }
}

const quarantined = {
  id: "quarantined",
  message: "Its refresh token cannot be opened; its credential is quarantined.",
};
const overtaken = {
  id: "overtaken",
  message: "Another process refreshed it at the same moment, and its token is stored.",
};
const busy = { id: "busy", message: "Another process is at work on it; try again." };
const secretRejected = {
  id: "client_secret_rejected",
  message: "The platform rejects our client secret: run kit secret set with the new one.",
};
