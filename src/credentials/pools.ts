import type { Context } from "../context.ts";
import { createWorkerPool, type WorkerPool } from "../work/worker-pool.ts";
import { holdsBack, type ClientSecret } from "./client-secret.ts";
import { endGrant } from "./lost-grants.ts";
import {
  claimGrants,
  claimRefresh,
  claimRefreshes,
  releaseCredential,
  type ClaimedCredential,
} from "./queue.ts";
import { named } from "./sealed.ts";
import type { Owner } from "./states.ts";
import { callTokens, type Admitted } from "./token-call.ts";
import { judgeLostGrant, type CallResult } from "./verdict.ts";

/**
 * While some rows are called for, the next are being claimed and the last ones stored. Not more: a row that waits in
 * line behind a call of 20 seconds must then have enough of its lease left.
 */
const ROWS_PER_CALL = 2;
/** At most so many rows are claimed to find one for a probe. */
const FEW = 20;

/** Exchanges grants, or ends those whose time is over (platform document, "States and transitions"). */
export const createExchanges = (ctx: Context) =>
  createPool(ctx, claimDueGrants, (jobs) => jobs.exchangeGrants(), ctx.credentials.lanes.count);

/** Refreshes pairs, of resources and people, before they expire (platform document, "Access token expired …"). */
export const createRefreshes = (ctx: Context) =>
  createPool(ctx, claimDuePairs, (jobs) => jobs.refreshTokens(), () => ctx.config.tokenConcurrency);

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
      // A pair is refreshed long after the request that brought its grant.
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
        ctx.log.error({ ...named(row), error }, "Work on a credential failed; its lease ends by itself"),
      );
      wake(ctx.wake);
    },
    places: () => callsAtOnce() * ROWS_PER_CALL,
  });
}

/**
 * A grant has minutes, nearly every step hours: while more grants than these are exchanged, no step is begun. Not for
 * longer than this, as long as some are left: a grant itself waits for the step of an unanswered provision. Without it a
 * burst of provisions has its tokens at three fifths of the speed.
 */
const FEW_GRANTS = 16;
const GRANTS_FIRST_MS = 60_000;

/** Says whether other work is to wait while grants are exchanged. */
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

/** Under a rejected secret one grant a minute probes it; those whose time is over need no call, only an end. */
async function claimDueGrants(ctx: Context, most: number): Promise<Admitted[]> {
  await ctx.credentials.lanes.adapt();
  const secret = await ctx.credentials.secrets.current();
  return admit(ctx, secret, await claimGrants(ctx.db, holdsBack(secret, true) ? Math.min(most, FEW) : most));
}

/** A rejected secret holds back the pairs of resources, and not those of people, who have another client. */
async function claimDuePairs(ctx: Context, most: number): Promise<Admitted[]> {
  const { breaker, secrets, people } = ctx.credentials;
  const allowed = Math.min(most, breaker.allowance());
  if (allowed === 0) return [];
  const secret = await secrets.current();
  const peoples: Owner[] = people ? ["person"] : [];
  if (!holdsBack(secret, false))
    return admit(ctx, secret, await claimRefreshes(ctx.db, allowed, ["resource", ...peoples]));
  const probing = await claimRefreshes(ctx.db, Math.min(allowed, FEW), ["resource"]);
  const others = people ? await claimRefreshes(ctx.db, allowed, peoples) : [];
  return admit(ctx, secret, [...probing, ...others]);
}

/**
 * Those of the claimed rows that may be called for. Of the resources' that a rejected secret holds back, the least tried
 * probes it, if that is due; the others are released.
 */
async function admit(
  ctx: Context,
  secret: ClientSecret,
  rows: readonly ClaimedCredential[],
): Promise<Admitted[]> {
  const isHeldBack = ({ owner, state, isOver }: ClaimedCredential) =>
    owner === "resource" && !isOver && holdsBack(secret, state === "grant_pending");
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
 * Refreshes one pair now, due or not, once for all callers; with `generation`, only that one. `busy`: another
 * process is at it or has just done it, or there is none. The circuit breaker does not apply: a caller waits.
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

/** Resolves when no refresh is under way, not even one whose caller may have stopped waiting. */
export async function refreshesSettled(ctx: Pick<Context, "refreshes" | "credentials">): Promise<void> {
  const { onUse } = ctx.credentials;
  await ctx.refreshes.settled();
  while (onUse.size > 0) await Promise.allSettled(onUse.values());
}
