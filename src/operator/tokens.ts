import { setTimeout as sleep } from "node:timers/promises";
import { statement, type Queryable } from "../database/database.ts";
import { errorIdOf, messageOf } from "../errors.ts";
import type { Context } from "../context.ts";
import { refreshNow } from "../credentials/refresh.ts";
import { countRows } from "./count-rows.ts";
import { failedUnknown, typedUuid } from "./errors.ts";
import type { OnProgress } from "./progress.ts";
import { rowsByUuid } from "./rows-by-uuid.ts";
import { workThrough } from "./work-through.ts";

/** The result of work on many resources: each is in one of the three lists, or counted in `left`. */
export interface TokenReport {
  done: string[];
  failed: { uuid: string; id: string; message: string }[];
  skipped: { uuid: string; reason: string }[];
  /** How many resources were not reached; only set if the work was stopped. */
  left?: number;
}

interface Found {
  uuid: string;
  state: string;
  hasRefreshToken: boolean;
}

interface Needs extends Context {
  /** Calls to the token endpoint at once. */
  concurrency: number;
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

const PAGE_SIZE = 500;
/** How long to wait for a token that another process is refreshing. */
const BUSY_PATIENCE_MS = 5_000;

const FOUND = `SELECT uuid, state, sealed_refresh_token IS NOT NULL AND NOT (state = 'quarantined' AND sealed_grant_code IS NOT NULL) AS "hasRefreshToken" FROM credentials WHERE owner = 'resource'`;
const named = statement("find_tokens", `${FOUND} AND uuid = ANY($1::uuid[])`);
const page = (name: string, after: string) =>
  statement(name, `${FOUND} AND state <> 'erased' ${after} ORDER BY uuid LIMIT ${PAGE_SIZE}`);
const firstPage = page("first_page_of_tokens", "");
const nextPage = page("next_page_of_tokens", "AND uuid > $1");

/** Refreshes the tokens of the named resources now, due or not. Throws `UsedWrongly` for a malformed uuid. */
export async function refreshTokens(needs: Needs, typed: readonly string[]): Promise<TokenReport> {
  const uuids = [...new Set(typed.map(typedUuid))];
  const rows = await needs.db.query<Found>(named, [uuids]);
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
  const total = await countRows(
    needs.db,
    "count_tokens",
    ["credentials"],
    "owner = 'resource' AND state <> 'erased'",
  );
  const isWanted = ({ state }: Found) => state === "active";
  return refreshEach(needs, allTokens(needs.db), { total, isWanted });
}

function allTokens(db: Queryable): AsyncGenerator<Found> {
  return rowsByUuid((after) =>
    after === null ? db.query<Found>(firstPage) : db.query<Found>(nextPage, [after]),
  );
}

async function refreshEach(
  needs: Needs,
  rows: Iterable<Found> | AsyncIterable<Found>,
  { total, isWanted }: { total: number; isWanted(row: Found): boolean },
): Promise<TokenReport> {
  const report: TokenReport = { done: [], failed: [], skipped: [] };

  async function handle(row: Found): Promise<void> {
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
  message: "Its refresh token cannot be opened; the credential was put aside.",
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
