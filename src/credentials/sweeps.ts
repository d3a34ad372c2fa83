import type { Context } from "../context.ts";
import { failProvision } from "../resources/end-store.ts";
import { createWorkerPool, type WorkerPool } from "../work/worker-pool.ts";
import { holdsBack, type ClientSecret, type JudgingClient } from "./client-secret.ts";
import {
  claimExpiredGrants,
  claimGrants,
  claimRefresh,
  claimRefreshes,
  releaseCredential,
  settle,
  type ClaimedCredential,
} from "./queue.ts";
import { named } from "./sealed.ts";
import type { Owner } from "./states.ts";
import { callTokens, type Admitted } from "./token-call.ts";
import { judgeLostGrant, type CallResult } from "./verdict.ts";

/**
 * How many rows are claimed for each call that may be under way: while some are called for, the next are being claimed
 * and the last ones stored, each of which takes a commit. Not more: a row that waits in line behind a call of 20
 * seconds must then have enough of its lease left.
 */
const ROWS_PER_CALL = 2;
/** The most rows claimed to find one for a probe. */
const MOST_LOOKED_AT = 20;
const OWNERS: readonly Owner[] = ["resource", "person"];

/**
 * Exchanges every grant that is due for its first pair of tokens, and ends those whose five minutes are over (platform
 * document, "States and transitions").
 */
export const createExchanges = (ctx: Context) => createPool(ctx, claimDueGrants, "exchange-grants");

/**
 * Refreshes token pairs, of resources and of people who signed in, before they expire (platform document, "Access token
 * expired … Refresh grant").
 */
export const createRefreshes = (ctx: Context) => createPool(ctx, claimDuePairs, "refresh-tokens");

function createPool(
  ctx: Context,
  claim: (ctx: Context, most: number) => Promise<Admitted[]>,
  job: "exchange-grants" | "refresh-tokens",
): WorkerPool {
  return createWorkerPool<Admitted>({
    claim: (most) => claim(ctx, most),
    async handle(admitted, stopping) {
      const { row } = admitted;
      // A pair is refreshed long after the request that brought its grant.
      const isGrant = row.state === "grant_pending";
      const work = ctx.trace.inSpan<unknown>(
        isGrant ? "exchange" : "refresh",
        { parent: isGrant ? row.traceparent : null, uuid: row.owner === "resource" ? row.uuid : undefined },
        () => (row.isOver ? endGrant(ctx, row) : callTokens(ctx, admitted, stopping)),
      );
      await work.catch((error: unknown) =>
        ctx.log.error({ ...named(row), error }, "Work on a credential failed; its lease ends by itself"),
      );
    },
    concurrency: ctx.config.tokenConcurrency * ROWS_PER_CALL,
    onEnd: () => ctx.nudge(job),
  });
}

/** Under a rejected secret one grant a minute probes it; those whose time is over need no call, only an end. */
async function claimDueGrants(ctx: Context, most: number): Promise<Admitted[]> {
  const { secrets: client } = ctx.credentials;
  const secret = await client.current();
  const admit = (row: ClaimedCredential) => ({ row, client, secret, isProbe: false });
  if (holdsBack(secret, true)) {
    const over = await claimExpiredGrants(ctx, most);
    if (over.length > 0) return over.map(admit);
    return probe(ctx, client, secret, await claimGrants(ctx, Math.min(most, MOST_LOOKED_AT)));
  }
  return (await claimGrants(ctx, most)).map(admit);
}

async function claimDuePairs(ctx: Context, most: number): Promise<Admitted[]> {
  const { breaker, clientOf } = ctx.credentials;
  const allowed = Math.min(most, breaker.allowance());
  if (allowed === 0) return [];
  const clients = new Map<Owner, { client: JudgingClient; secret: ClientSecret }>();
  const admitted: Admitted[] = [];
  for (const owner of OWNERS) {
    const client = clientOf(owner);
    if (!client) continue;
    const secret = await client.current();
    if (!holdsBack(secret, false)) clients.set(owner, { client, secret });
    else {
      const rows = await claimRefreshes(ctx, Math.min(allowed, MOST_LOOKED_AT), [owner]);
      admitted.push(...(await probe(ctx, client, secret, rows)));
    }
  }
  const rows = clients.size > 0 ? await claimRefreshes(ctx, allowed, [...clients.keys()]) : [];
  return [...admitted, ...rows.map((row) => ({ row, ...clients.get(row.owner)!, isProbe: false }))];
}

/** While a secret holds calls back: one of the rows probes it, the least tried one, if that is due. The others are released. */
async function probe(
  ctx: Context,
  client: JudgingClient,
  secret: ClientSecret,
  rows: readonly ClaimedCredential[],
): Promise<Admitted[]> {
  const [row, ...others] = rows.toSorted((one, other) => one.attempts - other.attempts);
  if (!row) return [];
  const isProbe = await client.takeProbe(secret);
  await Promise.all((isProbe ? others : rows).map((each) => releaseCredential(ctx.db, each)));
  return isProbe ? [{ row, client, secret, isProbe }] : [];
}

async function endGrant(ctx: Context, row: ClaimedCredential): Promise<void> {
  const { why, verdict } = judgeLostGrant(row);
  // False: the row has got another code at this moment.
  if (!(await settle(ctx.db, row, verdict))) return;
  ctx.log.error({ alarm: "grant_lost", ...named(row), reason: why }, "A grant ended without tokens");
  await failProvision(ctx, row.uuid, { onlyIfStranded: true });
}

/**
 * Refreshes one pair now, due or not, once for all who ask meanwhile. `busy`: another process is refreshing it or has
 * just done so, or there is none. With `generation`, only that pair is replaced, so that a token found dead is not
 * refreshed again after another process did it.
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
  const running = asked.get(uuid) ?? refreshOne(ctx, uuid, generation).finally(() => asked.delete(uuid));
  asked.set(uuid, running);
  return running;
}

async function refreshOne(
  ctx: Context,
  uuid: string,
  generation?: number,
): Promise<CallResult | { done: "busy" }> {
  const row = await claimRefresh(ctx, uuid, generation);
  if (!row) return { done: "busy" };
  const client = ctx.credentials.clientOf(row.owner);
  const secret = await client?.current();
  if (client && secret) {
    const [admitted] = holdsBack(secret, false)
      ? await probe(ctx, client, secret, [row])
      : [{ row, client, secret, isProbe: false }];
    if (admitted) return callTokens(ctx, admitted, null);
  } else await releaseCredential(ctx.db, row);
  return { done: "secret_rejected" };
}

/** Resolves when no refresh is under way, not even one whose caller may have stopped waiting. */
export async function refreshesSettled({
  refreshes,
  credentials: { asked },
}: Pick<Context, "refreshes" | "credentials">): Promise<void> {
  await refreshes.settled();
  while (asked.size > 0) await Promise.allSettled(asked.values());
}
