import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { newStep, FIRST_LEASE, type Step } from "../work/step.ts";
import { orNullAfter } from "../within.ts";
import {
  deprovisioned,
  givenAnswer,
  laterAnswer,
  TAKES_LONGER,
  unknownPlan,
  type Answer,
} from "./answers.ts";
import { requestDeadline, type WithinDeadline } from "./request-deadline.ts";
import type { ProvisionRequest, ResourceRow } from "./rows.ts";
import { answerFirst, findResource, insertProvision, receiveGrant, wasPlanChanged } from "./store.ts";

/**
 * Answers a provision request (assumed, section 1): delivered at least once, carried out exactly once. It stores the
 * resource, has the vendor's function run, and waits for the answer: the vendor's result, or "later" after
 * `pace.vendorMs`, whichever is stored first. A repeated request waits for the same answer, byte for byte.
 * `receivedAtMs`: when the request arrived (`performance.now()`). `isHeard`: whether its caller still waits.
 * Throws a `Refusal` for what cannot be provisioned.
 */
export async function provision(
  ctx: Context,
  request: ProvisionRequest,
  receivedAtMs = performance.now(),
  isHeard = () => true,
): Promise<Answer> {
  const { uuid, requestId } = request;
  const within = requestDeadline(receivedAtMs, ctx.pace);
  const plan = Object.hasOwn(ctx.offer.plans, request.plan) ? ctx.offer.plans[request.plan]! : null;
  if (!plan) {
    if (await within(() => findResource(ctx.db, uuid))) return again(ctx, request, within, isHeard);
    throw unknownPlan(ctx.offer, request.plan);
  }
  const answer = plan.later === undefined ? null : laterAnswer(plan.later, uuid);
  const stored = await within((deadline) => insertProvision(ctx, { request, answer, deadline }));
  if (!stored) return again(ctx, request, within, isHeard);
  if (!request.grant)
    ctx.log.error({ alarm: "no_grant", uuid, requestId }, "A provision came without a grant");
  if (answer) return answer;
  const run = ctx.work.start(firstStep(request, stored));
  return (await orNullAfter(ctx.pace.vendorMs, run)) ?? firstOrLater(ctx, uuid, within);
}

/**
 * A request whose uuid is stored already. Its grant, if it differs from the stored one, is taken first: after a success,
 * the latest code is exchanged. A request whose caller no longer waits brings no grant: a process that was frozen may
 * come to a request older than one that another process has answered since.
 */
async function again(
  ctx: Context,
  request: ProvisionRequest,
  within: WithinDeadline,
  isHeard: () => boolean,
): Promise<Answer> {
  const { uuid, grant, requestId } = request;
  if (grant && isHeard() && (await within(() => receiveGrant(ctx, uuid, grant, requestId))))
    ctx.log.info({ uuid, requestId }, "A repeated provision brought a new grant");
  const until = performance.now() + ctx.pace.vendorMs;
  for (let looks = 0; ; looks += 1) {
    const resource = await within(() => findResource(ctx.db, uuid));
    if (!resource) throw new Error(`Resource ${uuid} is neither new nor stored.`);
    if (resource.answerStatus !== null || resource.state === "deprovisioned") {
      await logDifferences(ctx, resource, request);
      return answerGiven(ctx, resource);
    }
    // The process that began it may have died: then its step is due.
    if (looks === 0) ctx.nudge("run-vendor-steps");
    if (performance.now() > until) return firstOrLater(ctx, uuid, within);
    await sleep(50);
  }
}

/** Stores "later" as the answer, unless one was stored first. */
async function firstOrLater(ctx: Context, uuid: string, within: WithinDeadline): Promise<Answer> {
  const answer = laterAnswer(TAKES_LONGER, uuid);
  const later = { uuid, answer, state: "provisioning", config: null, next: "provision" } as const;
  if (await within(() => answerFirst(ctx, { ...later, lease: FIRST_LEASE }))) return answer;
  const resource = await within(() => findResource(ctx.db, uuid));
  if (!resource) throw new Error(`Resource ${uuid} is gone.`);
  return answerGiven(ctx, resource);
}

function answerGiven({ vault }: Context, resource: ResourceRow): Answer {
  const answer = givenAnswer(vault, resource);
  if (!answer) throw deprovisioned();
  return answer;
}

/** Logs the members in which a repeated request differs from the first one, without their values. */
async function logDifferences(ctx: Context, stored: ResourceRow, request: ProvisionRequest): Promise<void> {
  const { uuid, requestId, plan: asked } = request;
  const differs = [
    ...(stored.plan !== asked && !(await isRedelivery()) ? ["plan"] : []),
    ...(stored.region !== request.region ? ["region"] : []),
    // Compared as plain objects: the options of a request have no prototype.
    ...(isDeepStrictEqual({ ...stored.options }, { ...request.options }) ? [] : ["options"]),
  ];
  if (differs.length === 0 || stored.state === "deprovisioned") return;
  const about = { uuid, requestId, differs, kept: stored.plan, asked };
  ctx.log.warn(about, "A repeated provision differs; the first answer stands");

  // A request with another plan, after a plan change. An error of the database does not delay or change the answer.
  async function isRedelivery(): Promise<boolean> {
    return wasPlanChanged(ctx, uuid).catch(() => false);
  }
}

function firstStep(
  request: ProvisionRequest,
  sealed: Pick<ResourceRow, "sealedLogInputUrl" | "sealedLogDrainToken">,
): Step {
  const { uuid, name, plan, region, options, requestId } = request;
  const resource: ResourceRow = {
    ...{ uuid, name, plan, region, options, ...sealed },
    ...{ state: "provisioning", answerStatus: null, sealedAnswer: null, sealedConfig: null },
  };
  return newStep(resource, { key: uuid, kind: "provision", requestId });
}
