import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable } from "../database/database.ts";
import type { WithinDeadline } from "./request-deadline.ts";
import { unknownPlan } from "./refusals.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import type { Offer, YourService } from "./contract.ts";
import { createFirstAnswer } from "./first-answer.ts";
import type { Answer, ProvisionAnswers } from "./provision-answers.ts";
import type { NewResource, ProvisionRequest, ProvisionStore } from "./provision-store.ts";
import { createRepeatedAnswer } from "./repeated-answer.ts";
import { findResource, type ResourceRow } from "./rows.ts";
import type { Step, StepQueue } from "./steps/queue.ts";
import type { StepRunner } from "./steps/runner.ts";
import type { VendorSteps } from "./steps/vendor-steps.ts";
import type { RunExclusive } from "./resource-mutex.ts";

/** How long a repeated request waits for another process that is deciding the first one. */
const PATIENCE_MS = 4_000;

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
  pace: Pace;
}): Provision {
  const { db, offer, store, answers, queue, runExclusive, log } = needs;
  const firstAnswer = createFirstAnswer(needs);
  const repeatedAnswer = createRepeatedAnswer(needs);

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
      const inserted = await withinDeadline((deadline) => store.insert(request, key, answer, deadline));
      if (!inserted) return again(request, key, { withinDeadline, isHeard });
      if (!request.grant)
        log.error({ alarm: "no_grant", ...named(request) }, "A provision came without a grant");
      return answer ?? firstAnswer.decide(newStep(request, inserted, key), withinDeadline);
    });

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
        return repeatedAnswer(resource, request);
      }
      // Left by a process that died, or written by our own insert whose acknowledgement was lost.
      const orphan = await withinDeadline(() => queue.claimUnanswered(request.uuid, ownKey));
      if (orphan) return firstAnswer.decide(orphan, withinDeadline);
      // The process that held the step died or is slow: answer "later". A step that is still stored runs in the next
      // sweep.
      if (performance.now() > until) {
        const answer = await withinDeadline(() => answers.decideLater(resource));
        return answer ?? firstAnswer.decidedElsewhere(request.uuid, withinDeadline);
      }
      await sleep(50);
    }
  }
}

/** For the log. */
function named({ uuid, requestId }: ProvisionRequest) {
  return { uuid, requestId };
}

function newStep(request: ProvisionRequest, { stepId, ...sealed }: NewResource, key: string): Step {
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
