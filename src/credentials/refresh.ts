import type { Context } from "../context.ts";
import type { TokenFailure } from "../platform/oauth.ts";
import { createWorkerPool, type WorkerPool } from "../work/worker-pool.ts";
import type { Admission, Admitted } from "./admission.ts";
import {
  claimRefresh,
  claimRefreshes,
  releaseCredential,
  ROWS_PER_CALL,
  type ClaimedCredential,
} from "./queue.ts";
import { named } from "./sealed.ts";
import type { Owner } from "./states.ts";
import { endSignIn, putOffRefresh } from "./store.ts";
import { callTokenEndpoint, type CallResult } from "./token-call.ts";
import { atOnce, type TakeTurn } from "./turns.ts";
import { judgeFailedRefresh, type RefreshVerdict } from "./verdict.ts";

/**
 * Refreshes token pairs, of resources and of people who signed in, before they expire (platform document, "Access token
 * expired … Refresh grant").
 */
export function createRefreshes(ctx: Context): WorkerPool {
  return createWorkerPool({
    claim: (most) => claim(ctx, most),
    async handle(admitted, signal) {
      await refresh(ctx, admitted, ctx.credentials.turns.forRefresh(signal)).catch((error: unknown) =>
        ctx.log.error({ ...whose(admitted.row), error }, "A refresh failed; its lease ends by itself"),
      );
    },
    concurrency: ctx.config.tokenConcurrency * ROWS_PER_CALL,
    onEnd: () => ctx.nudge("refresh-tokens"),
  });
}

/** Starts refreshing every token pair that is due. Returns how many rows it took. */
export const refreshDue = ({ refreshes }: Pick<Context, "refreshes">, signal: AbortSignal) =>
  refreshes.fill(signal);

/**
 * Refreshes one pair now, due or not. `busy`: another process is refreshing it or has just done so, or there is none.
 * With `generation`, only that pair is replaced, so that a token found dead is not refreshed again after another
 * process did it.
 *
 * The circuit breaker does not hold it back: a caller waits for this one token and would otherwise be refused for up to
 * 15 seconds after the platform is back. It is one call per row at a time, and its outcome feeds the breaker.
 */
export function refreshNow(
  ctx: Context,
  uuid: string,
  generation?: number,
): Promise<CallResult | { done: "busy" }> {
  const { asked } = ctx.credentials;
  const answer = refreshOne(ctx, uuid, generation).finally(() => asked.delete(answer));
  asked.add(answer);
  return answer;
}

/** Resolves when no refresh is under way, not even one whose caller may have stopped waiting. */
export async function refreshesSettled({
  refreshes,
  credentials: { asked },
}: Pick<Context, "refreshes" | "credentials">) {
  await refreshes.settled();
  while (asked.size > 0) await Promise.allSettled(asked);
}

/**
 * Makes the tokens that older client secrets issued due, if that is still to be done; returns how many. They are dead,
 * so they are refreshed now: the next sweep would come late.
 */
export async function spreadSecret(ctx: Context, signal?: AbortSignal): Promise<number> {
  const due = await ctx.credentials.secrets.spread(signal);
  if (due > 0) ctx.nudge("refresh-tokens");
  return due;
}

async function claim(ctx: Context, most: number): Promise<Admitted[]> {
  const allowed = Math.min(most, ctx.credentials.breaker.allowance());
  if (allowed === 0) return [];
  const clients = Object.entries(clientsOf(ctx)) as [Owner, Admission][];
  const open = await Promise.all(
    clients.map(async ([owner, client]) => ({ owner, client, secret: await client.open(false) })),
  );
  const working = open.flatMap(({ secret, ...each }) => (secret ? [{ ...each, secret }] : []));
  const rows =
    working.length > 0
      ? await claimRefreshes(
          ctx,
          allowed,
          working.map(({ owner }) => owner),
        )
      : [];
  const admitted = rows.map((row) => {
    const { client, secret } = working.find(({ owner }) => owner === row.owner)!;
    return { row, client, secret, isProbe: false };
  });
  const probes = open
    .filter(({ secret }) => !secret)
    .map(({ owner, client }) =>
      client.probe(
        (some) => claimRefreshes(ctx, some, [owner]),
        (row) => releaseCredential(ctx, row),
      ),
    );
  return [...admitted, ...(await Promise.all(probes)).flat()];
}

/** The OAuth clients that pairs belong to, by owner. */
function clientsOf({ credentials: { resources: resource, people: person } }: Context) {
  return person ? { resource, person } : { resource };
}

async function refreshOne(
  ctx: Context,
  uuid: string,
  generation?: number,
): Promise<CallResult | { done: "busy" }> {
  const row = await claimRefresh(ctx, uuid, generation);
  if (!row) return { done: "busy" };
  const client = row.owner === "person" ? ctx.credentials.people : ctx.credentials.resources;
  const release = () => releaseCredential(ctx, row);
  const secret = await client?.open(false);
  const [admitted] = secret
    ? [{ row, client: client!, secret, isProbe: false }]
    : ((await client?.probe(() => Promise.resolve([row]), release)) ?? (await release(), []));
  return admitted ? refresh(ctx, admitted, atOnce) : { done: "secret_rejected" };
}

async function refresh(ctx: Context, admitted: Admitted, takeTurn: TakeTurn): Promise<CallResult> {
  const { breaker } = ctx.credentials;
  const { row } = admitted;
  const sentMs = performance.now();
  const result = await callTokenEndpoint(ctx, admitted, takeTurn);
  if (result.done === "stored" || result.done === "not_ours") breaker.succeeded(sentMs);
  // A sandbox may give tokens a life of seconds, which would end before the next sweep.
  if (result.done === "stored" && result.refreshInSeconds < 60)
    ctx.nudge("refresh-tokens", result.refreshInSeconds * 1_000);
  // A quarantined row stays so until tokens are stored, whatever the platform says of those it holds.
  if (row.state === "quarantined" && result.done !== "stored") await releaseCredential(ctx, row);
  if (result.done !== "failed" || row.state === "quarantined") return result;
  const { outcome, retryAfterMs } = result.failure;
  // A refusal proves that the endpoint is up.
  if (outcome === "token_rejected") breaker.succeeded(sentMs);
  if (outcome === "not_issued" || outcome === "unknown") breaker.failed(retryAfterMs);
  await storeFailure(ctx, admitted, result.failure);
  return result;
}

async function storeFailure(
  { db, log, pace }: Context,
  { row }: Admitted,
  failure: Extract<CallResult, { done: "failed" }>["failure"],
): Promise<void> {
  const { outcome, error } = failure;
  const verdict = judgeFailedRefresh(row, failure, pace);
  if (verdict.givesUp && row.owner === "person") {
    if (await endSignIn(db, row, "refresh_token_rejected"))
      log.warn(
        { ...whose(row), error },
        "The platform refuses a person's refresh token: they must sign in again",
      );
    return;
  }
  const turned = await putOffRefresh(db, row, { ...verdict, error: `${error.id}: ${error.message}` });
  const about = { ...whose(row), outcome, error };
  if (turned) log.error({ alarm: "needs_reauth", ...about }, "The platform refuses a refresh token for good");
  else logFailure(log, { ...about, ...verdict });
}

/**
 * Trouble passes, and metrics watch it, so it is a warning; a call that the platform calls malformed fails until a
 * person looks, so it is an alarm.
 */
function logFailure(
  log: Context["log"],
  about: { outcome: TokenFailure; error: unknown } & RefreshVerdict,
): void {
  if (about.outcome !== "bug") return log.warn(about, "A token could not be refreshed yet");
  log.error(
    { alarm: "refresh_misunderstood", ...about },
    "The platform refuses a refresh for another reason than its token",
  );
}

/** Without the request that brought the grant: it is long answered. */
const whose = ({ uuid, owner }: ClaimedCredential) => named({ uuid, owner });
