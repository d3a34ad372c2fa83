import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { receiveGrant } from "../credentials/grant-store.ts";
import { type Persist, requestDeadline } from "../database/retry.ts";
import { isOnSale } from "../offer.ts";
import { refusalOf } from "../options.ts";
import { foundInTime, orNullAfter } from "../within.ts";
import { FIRST_LEASE } from "../work/step.ts";
import { type Answer, givenAnswer, laterAnswer, unknownPlan } from "./answers.ts";
import { noteRepeated } from "./refused-provisions.ts";
import type { ProvisionRequest, ResourceRow } from "./rows.ts";
import { newStep } from "./step-kinds.ts";
import { answerFirst, findResource, insertProvision } from "./store.ts";

/**
 * Answers a provision request (assumed, section 1). The platform may deliver it more than once; every delivery gets the
 * same answer, byte for byte. The function stores the resource and runs the vendor's function, unless the plan is always
 * answered "later". The answer is the vendor's result, or "later" after `pace.vendorMs`, whichever is stored first. To store
 * the answer makes the grant due, which the job `exchange-grants` exchanges once the answer is sent.
 * `isHeard`: returns whether the caller still waits. Throws a `Refusal` for a request that cannot be fulfilled.
 */
export async function provision(
  ctx: Context,
  request: ProvisionRequest,
  receivedAtMs = performance.now(),
  isHeard = () => true,
): Promise<Answer> {
  const { uuid, requestId } = request;
  const persist = requestDeadline(receivedAtMs, ctx.pace);
  const plan = isOnSale(ctx.offer, request.plan) ? ctx.offer.plans[request.plan]! : null;
  const refusal = plan ? refusedOptions(ctx, request) : unknownPlan(ctx.offer, request.plan);
  if (!plan || refusal) {
    if (await persist(() => findResource(ctx.db, uuid))) return again(ctx, request, persist, isHeard);
    throw refusal!;
  }
  const answer = plan.later === undefined ? null : laterAnswer(plan.later, uuid);
  const traceparent = ctx.trace.current();
  const claimedAtMs = Date.now();
  const stored = await persist((isTooLate) =>
    insertProvision(ctx, { request, answer, isTooLate, traceparent }),
  );
  if (!stored) return again(ctx, request, persist, isHeard);
  if (!request.grant)
    ctx.log.error({ alarm: "no_grant", uuid, requestId }, "A provision came without a grant");
  if (answer) return answer;
  const run = ctx.work.start(
    newStep(stored, { key: uuid, kind: "provision", detail: {}, requestId, traceparent, claimedAtMs }),
  );
  return (await orNullAfter(ctx.pace.vendorMs, run)) ?? firstOrLater(ctx, uuid, persist);
}

/** An offer without a schema allows any options. */
const refusedOptions = ({ offer }: Context, { options }: ProvisionRequest) =>
  offer.options ? refusalOf(offer.options, options) : null;

/**
 * Answers a request whose uuid is stored already. A new grant in the request replaces the stored one, because only the
 * latest code is valid. The grant of a request whose caller no longer waits is ignored: a suspended process may handle a
 * request that is older than one that was answered since. Before a success is answered, it is stored that the platform has
 * the resource: the first request may have been answered with an error (refused-provisions.ts).
 */
async function again(
  ctx: Context,
  request: ProvisionRequest,
  persist: Persist,
  isHeard: () => boolean,
): Promise<Answer> {
  const { uuid, grant, requestId } = request;
  const by = { requestId, traceparent: ctx.trace.current() };
  if (grant && isHeard() && (await persist(() => receiveGrant(ctx, uuid, grant, by))))
    ctx.log.info({ uuid, requestId }, "A repeated provision brought a new grant");
  // If the process of the first request has died, its step is due.
  ctx.wake.runVendorSteps();
  const given = await foundInTime(async () => {
    const resource = await storedResource(ctx, uuid, persist);
    const answer = givenAnswer(ctx.vault, resource);
    if (answer) logDifferences(ctx, resource, request);
    return answer;
  }, performance.now() + ctx.pace.vendorMs);
  const answer = given ?? (await firstOrLater(ctx, uuid, persist));
  if (answer.status >= 300 || (await persist(() => noteRepeated(ctx.db, uuid, requestId)))) return answer;
  // It has ended since its answer was read.
  return givenAnswer(ctx.vault, await storedResource(ctx, uuid, persist)) ?? answer;
}

/** Stores "later" as the answer unless another answer is stored. Returns the stored answer. */
async function firstOrLater(ctx: Context, uuid: string, persist: Persist): Promise<Answer> {
  const message = "Your add-on is being set up. Its config vars appear as soon as it is ready.";
  const later = laterAnswer(message, uuid);
  const first = { uuid, answer: later, config: null, lease: FIRST_LEASE, next: "same" } as const;
  if (await persist(() => answerFirst(ctx, first))) return later;
  return givenAnswer(ctx.vault, await storedResource(ctx, uuid, persist)) ?? later;
}

const storedResource = async (ctx: Context, uuid: string, persist: Persist) =>
  (await persist(() => findResource(ctx.db, uuid)))!;

/** Logs which members of a repeated request differ from the stored ones, without their values. */
function logDifferences({ log }: Context, stored: ResourceRow, request: ProvisionRequest): void {
  const { uuid, requestId, plan: asked } = request;
  const differs = (["plan", "region", "options"] as const).filter(
    (member) => !isDeepStrictEqual(stored[member], request[member]),
  );
  if (differs.length > 0)
    log.warn(
      { uuid, requestId, differs, kept: stored.plan, asked },
      "A repeated provision differs from the first; its differences are ignored",
    );
}
