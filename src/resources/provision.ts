import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { statement, type Queryable } from "../database/database.ts";
import type { WithinDeadline } from "./request-deadline.ts";
import { deprovisioned, unknownPlan } from "./refusals.ts";
import type { Log } from "../logging/log.ts";
import type { Vault } from "../vault/vault.ts";
import type { Offer, YourService } from "./contract.ts";
import type { Answer, ProvisionAnswers } from "./provision-answers.ts";
import type { Birth, ProvisionRequest, ProvisionStore } from "./provision-store.ts";
import { findResource, vendorResource, type ResourceRow } from "./rows.ts";
import { attempt, type Attempt } from "./steps/attempt.ts";
import type { Step, StepQueue } from "./steps/queue.ts";
import type { StepRunner } from "./steps/runner.ts";
import type { VendorSteps } from "./steps/vendor-steps.ts";
import type { RunExclusive } from "./resource-mutex.ts";

/**
 * The platform wants its answer within 3 s. After this long the answer is "later" (202), with 200 ms left to store it.
 */
export const VENDOR_TIME_MS = 2_800;
/** How long a repeated request waits for another process that is deciding the first one. */
const PATIENCE_MS = 4_000;

// After a plan change, the plan of the first request is no longer known: a repeated request with another plan is then
// taken for a redelivery of it.
const countPlanChanges = statement(
  "count_plan_changes",
  `SELECT count(*)::int AS changes FROM (
     SELECT FROM events WHERE uuid = $1 AND type IN ('plan_change_queued', 'plan_changed') LIMIT 1) one`,
);

/**
 * Answers a provision request (assumed, section 1): delivered at least once, carried out exactly once. Throws a
 * `Refusal` for what cannot be provisioned; every other answer is final and repeated byte for byte.
 * `receivedAtMs`: when the request arrived (`performance.now()`); now unless given. `isHeard`: whether its caller still
 * waits for the answer.
 */
export type Provision = (
  request: ProvisionRequest,
  receivedAtMs?: number,
  isHeard?: () => boolean,
) => Promise<Answer>;

export function createProvision(needs: {
  db: Queryable;
  vault: Vault;
  offer: Offer;
  vendor: YourService;
  store: ProvisionStore;
  answers: ProvisionAnswers;
  queue: StepQueue;
  runner: StepRunner;
  vendorSteps: VendorSteps;
  runExclusive: RunExclusive;
  /** Called when a step that is due at once, or soon, was left to the background. */
  onSettled(): void;
  log: Log;
}): Provision {
  const {
    db,
    vault,
    offer,
    vendor,
    store,
    answers,
    queue,
    runner,
    vendorSteps,
    runExclusive,
    onSettled,
    log,
  } = needs;

  return (request, receivedAtMs = performance.now(), isHeard = () => true) =>
    runExclusive(request.uuid, receivedAtMs, async (withinDeadline) => {
      const plan = Object.hasOwn(offer.plans, request.plan) ? offer.plans[request.plan]! : null;
      if (!plan) {
        const known = await withinDeadline(() => findResource(db, request.uuid));
        if (known) return again(request, randomUUID(), { withinDeadline, isHeard });
        throw unknownPlan(offer, request.plan);
      }
      const key = randomUUID();
      const answer = plan.later === undefined ? null : answers.putOff(request.uuid, plan.later);
      const birth = await withinDeadline((deadline) => store.insert(request, key, answer, deadline));
      if (!birth) return again(request, key, { withinDeadline, isHeard });
      if (!request.grant)
        log.error({ alarm: "no_grant", ...named(request) }, "A provision came without a grant");
      return answer ?? firstAnswer(newStep(request, birth, key), withinDeadline);
    });

  /** Calls the vendor and decides the answer, within the platform's time limit. */
  function firstAnswer(step: Step, withinDeadline: WithinDeadline): Promise<Answer> {
    return runner.hiding(step, () => callAndDecide(step, withinDeadline));
  }

  async function callAndDecide(step: Step, withinDeadline: WithinDeadline): Promise<Answer> {
    const call = runner.holding(step, (signal) =>
      attempt(offer, () => vendor.provision(vendorResource(vault, step.resource, { ...step, signal }))),
    );
    const settle = () =>
      runner.inBackground(
        step,
        call.then((late) => vendorSteps.settle(step, late)),
      );
    const result = await inTime(call);
    const answer = await withinDeadline(() => answers.decide(step, result));
    if (result.is === "slow") settle();
    else if (result.is === "refused" || result.is === "failed") onSettled();
    if (answer) return answer;
    const standing = await decidedElsewhere(step.resource.uuid, withinDeadline);
    // Another process answered "later" and left the step to this one: the platform must learn the result from the step.
    // Any other answer is our own, whose acknowledgement was lost; storing it settled the step.
    if (result.is !== "slow" && standing.status === 202) settle();
    return standing;
  }

  /**
   * A request whose uuid is known gets the same answer, as soon as there is one. Its grant, if it differs from the
   * stored one, is taken first: after a success, the latest code is exchanged. A request whose caller no longer waits
   * brings no grant: a process that was frozen may come to a request older than one that another process has answered
   * meanwhile.
   */
  async function again(
    request: ProvisionRequest,
    ownKey: string,
    { withinDeadline, isHeard }: { withinDeadline: WithinDeadline; isHeard: () => boolean },
  ): Promise<Answer> {
    const { uuid, grant, requestId } = request;
    if (grant && isHeard() && (await withinDeadline(() => store.receiveGrant(uuid, grant, requestId))))
      log.info(named(request), "A repeated provision brought a new grant");
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const resource = await withinDeadline(() => findResource(db, request.uuid));
      if (!resource) throw new Error(`Resource ${request.uuid} is neither new nor known.`);
      if (resource.answerStatus !== null || resource.state === "deprovisioned") {
        return repeated(resource, request);
      }
      // Left by a process that died, or written by our own insert whose acknowledgement was lost.
      const orphan = await withinDeadline(() => queue.claimUnanswered(request.uuid, ownKey));
      if (orphan) return firstAnswer(orphan, withinDeadline);
      // The process that held the step died or is slow: answer "later". A step that is still stored runs in the next
      // sweep.
      if (performance.now() > until) {
        const answer = await withinDeadline(() => answers.decideLater(resource));
        return answer ?? decidedElsewhere(request.uuid, withinDeadline);
      }
      await sleep(50);
    }
  }

  async function repeated(resource: ResourceRow, request: ProvisionRequest): Promise<Answer> {
    const answer = answers.given(resource);
    if (resource.state === "deprovisioned" || !answer) throw deprovisioned();
    let differs = differences(resource, request);
    // Needed for the log only: an error of the database is ignored, so that it does not delay or change the answer.
    if (differs.includes("plan") && (await wasPlanChanged(resource).catch(() => false)))
      differs = differs.filter((member) => member !== "plan");
    if (differs.length > 0) {
      log.warn(
        { ...named(request), differs, kept: resource.plan, asked: request.plan },
        "A repeated provision differs; the first answer stands",
      );
    }
    return answer;
  }

  async function wasPlanChanged({ uuid }: ResourceRow): Promise<boolean> {
    const [row] = await db.query<{ changes: number }>(countPlanChanges, [uuid]);
    return row!.changes > 0;
  }

  /**
   * The answer that another process stored first. If there is none, the resource was deprovisioned: throws a `Refusal`.
   */
  async function decidedElsewhere(uuid: string, withinDeadline: WithinDeadline): Promise<Answer> {
    const resource = await withinDeadline(() => findResource(db, uuid));
    const answer = resource && answers.given(resource);
    if (answer) return answer;
    throw deprovisioned();
  }
}

/** The names of the members in which a repeated request differs from what is stored; their values are not logged. */
function differences(stored: ResourceRow, { plan, region, options }: ProvisionRequest): string[] {
  const others = {
    plan: stored.plan !== plan,
    region: stored.region !== region,
    // Compared as plain objects: the options of a request have no prototype.
    options: !isDeepStrictEqual({ ...stored.options }, { ...options }),
  };
  return Object.entries(others).flatMap(([member, isOther]) => (isOther ? [member] : []));
}

/**
 * The result of a vendor's call, or `slow` after {@link VENDOR_TIME_MS}. A call that is cut off because the process
 * stops has failed: the platform waits for an answer.
 */
export function inTime(call: Promise<Attempt>): Promise<Attempt | { is: "slow" }> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ is: "slow" }), VENDOR_TIME_MS);
    void call
      .catch((error: unknown): Attempt => ({ is: "failed", error }))
      .finally(() => clearTimeout(timer))
      .then(resolve);
  });
}

/** For the log. */
function named({ uuid, requestId }: ProvisionRequest) {
  return { uuid, requestId };
}

function newStep(request: ProvisionRequest, { stepId, ...sealed }: Birth, key: string): Step {
  const { uuid, name, plan, region, options, requestId } = request;
  const resource: ResourceRow = {
    uuid,
    name,
    plan,
    appliedPlan: plan,
    region,
    options,
    state: "provisioning",
    answerStatus: null,
    sealedAnswer: null,
    sealedConfig: null,
    ...sealed,
  };
  return { id: stepId, key, kind: "provision", detail: {}, attempts: 1, lease: 1, requestId, resource };
}
