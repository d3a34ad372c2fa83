import type { Context } from "../context.ts";
import { createWorkerPool, type WorkerPool } from "../work/worker-pool.ts";
import { type ClientSecret, mustWait } from "./client-secret.ts";
import { endGrant } from "./lost-grants.ts";
import {
  type ClaimedCredential,
  claimGrants,
  claimRefresh,
  claimRefreshes,
  releaseCredential,
} from "./queue.ts";
import { named } from "./sealed.ts";
import type { Owner } from "./states.ts";
import { type Admitted, callTokens } from "./token-call.ts";
import { type CallResult, judgeLostGrant } from "./verdict.ts";

/**
 * Claimed rows for each concurrent call, so that rows are claimed and results stored while calls run. Not more: a row that
 * waits for a call of 20 seconds must have enough of its lease left.
 */
const ROWS_PER_CALL = 2;
/** The most rows that are claimed in order to choose one for a probe of a rejected secret. */
const PROBE_CANDIDATES = 20;

/** Exchanges due grants, and ends the grants that are past their deadline (platform document, "States and transitions"). */
export const createExchanges = (ctx: Context) =>
  createPool(ctx, claimDueGrants, (jobs) => jobs.exchangeGrants(), ctx.credentials.lanes.count);

/** Refreshes the token pairs of resources and people before they expire (platform document, "Access token expired …"). */
export const createRefreshes = (ctx: Context) =>
  createPool(
    ctx,
    claimDuePairs,
    (jobs) => jobs.refreshTokens(),
    () => ctx.config.tokenConcurrency,
  );

function createPool(
  ctx: Context,
  claim: (ctx: Context, most: number) => Promise<Admitted[]>,
  wake: (jobs: Context["wake"]) => void,
  callsAtOnce: () => number,
): WorkerPool {
  return createWorkerPool<Admitted>({
    claim: (most) => claim(ctx, most),
    async handle(due, noNewCalls) {
      const { row } = due;
      // A refresh starts a new trace: it runs long after the request that brought the grant.
      const isGrant = row.state === "grant_pending";
      const work = ctx.trace.inSpan<unknown>(
        isGrant ? "exchange" : "refresh",
        { parent: isGrant ? row.traceparent : null, uuid: row.owner === "resource" ? row.uuid : undefined },
        () =>
          row.isOver && !ctx.credentials.held.has(row.uuid)
            ? endGrant(ctx, row, judgeLostGrant(row))
            : callTokens(ctx, due, noNewCalls),
      );
      await work.catch((error: unknown) =>
        ctx.log.error(
          { ...named(row), error },
          "Exchange or refresh failed and its outcome could not be stored; retrying when the lease has expired",
        ),
      );
      wake(ctx.wake);
    },
    places: () => callsAtOnce() * ROWS_PER_CALL,
  });
}

/**
 * While more grants than this are being exchanged, no step starts, because a grant has minutes and a step has hours. A
 * burst of provisions gets its tokens at three fifths of the speed without this rule.
 */
const FEW_GRANTS = 16;
/** The longest time for which steps wait. Without a limit, grants could wait for ever for the step of their provision. */
const GRANTS_FIRST_MS = 60_000;

/** Returns a function that says whether steps must wait for the exchange of grants. */
export function hasGrantsFirst(): (ctx: Pick<Context, "exchanges">) => boolean {
  let crowdedSinceMs: number | null = null;
  return ({ exchanges }) => {
    const grants = exchanges.underWay();
    if (grants === 0) crowdedSinceMs = null;
    if (grants <= FEW_GRANTS) return false;
    crowdedSinceMs ??= performance.now();
    return performance.now() - crowdedSinceMs < GRANTS_FIRST_MS;
  };
}

/** Claims few grants while the secret is rejected: one grant a minute probes the secret, and expired grants are ended. */
async function claimDueGrants(ctx: Context, most: number): Promise<Admitted[]> {
  await ctx.credentials.lanes.adapt();
  const secret = await ctx.credentials.secrets.current();
  const wanted = mustWait(secret, true) ? Math.min(most, PROBE_CANDIDATES) : most;
  const isAfterOutage = await ctx.work.rests();
  return admit(ctx, secret, await claimGrants(ctx.db, wanted, isAfterOutage));
}

/** A rejected secret stops the refreshes of resources, but not those of people, who have another OAuth client. */
async function claimDuePairs(ctx: Context, most: number): Promise<Admitted[]> {
  const { breaker, secrets, people } = ctx.credentials;
  const allowed = Math.min(most, breaker.allowance());
  if (allowed === 0) return [];
  const secret = await secrets.current();
  const peoples: Owner[] = people ? ["person"] : [];
  if (!mustWait(secret, false))
    return admit(ctx, secret, await claimRefreshes(ctx.db, allowed, ["resource", ...peoples]));
  const probing = await claimRefreshes(ctx.db, Math.min(allowed, PROBE_CANDIDATES), ["resource"]);
  const others = people ? await claimRefreshes(ctx.db, allowed, peoples) : [];
  return admit(ctx, secret, [...probing, ...others]);
}

/**
 * Returns the claimed rows whose call may be sent. If the secret of the resources is rejected and a probe is due, the row
 * with the fewest attempts is the probe. The other rows of resources are released.
 */
async function admit(
  ctx: Context,
  secret: ClientSecret,
  rows: readonly ClaimedCredential[],
): Promise<Admitted[]> {
  const isHeldBack = ({ owner, state, isOver }: ClaimedCredential) =>
    owner === "resource" && !isOver && mustWait(secret, state === "grant_pending");
  const release = (some: readonly ClaimedCredential[]) =>
    Promise.all(some.map((row) => releaseCredential(ctx.db, row)));
  const heldBack = rows.filter(isHeldBack);
  const [least] = heldBack.toSorted((one, other) => one.attempts - other.attempts);
  const takeProbe = () =>
    ctx.credentials.secrets.takeProbe(secret).catch(async (error: unknown) => {
      await release(rows);
      throw error;
    });
  const probe = least && (await takeProbe()) ? least : null;
  const held = heldBack.filter((row) => row !== probe);
  await release(held);
  return rows
    .filter((row) => !held.includes(row))
    .map((row) => ({ row, secret: row.owner === "person" ? null : secret, isProbe: row === probe }));
}

/**
 * Refreshes one pair now, due or not, once for all callers of this process. `generation`: only if the row still has this
 * one. Returns `busy` if another process has the row, has just refreshed the pair, or there is no pair. The circuit
 * breaker does not apply, because a caller waits.
 */
export function refreshNow(ctx: Context, uuid: string, generation?: number): Promise<CallResult> {
  const { onUse } = ctx.credentials;
  const running = onUse.get(uuid) ?? refreshOne(ctx, uuid, generation).finally(() => onUse.delete(uuid));
  onUse.set(uuid, running);
  return running;
}

async function refreshOne(ctx: Context, uuid: string, generation?: number): Promise<CallResult> {
  const secret = await ctx.credentials.secrets.current();
  const row = await claimRefresh(ctx.db, uuid, generation);
  if (!row) return { done: "busy" };
  const [only] = await admit(ctx, secret, [row]);
  return only ? callTokens(ctx, only, null) : { done: "secret_rejected" };
}

/** Resolves when no refresh is running, including refreshes whose callers no longer wait. */
export async function refreshesSettled(ctx: Pick<Context, "refreshes" | "credentials">): Promise<void> {
  const { onUse } = ctx.credentials;
  await ctx.refreshes.settled();
  while (onUse.size > 0) await Promise.allSettled(onUse.values());
}
