import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/database.ts";
import { errorIdOf, KitError, Refusal, mayQuote } from "../errors.ts";
import { answerOf, type Answer, type Result } from "../resources/answers.ts";
import { LONGEST_CALL_SECONDS } from "../offer.ts";
import { openConfig } from "../resources/config-vars.ts";
import type { NotYet, Outcome, VendorResource } from "../resources/contract.ts";
import type { ResourceRow } from "../resources/rows.ts";
import { answerFirst, lockedResource } from "../resources/store.ts";
import { Secret } from "../secret.ts";
import { resourceSealContext, type Vault } from "../vault/vault.ts";
import { untilCut } from "../within.ts";
import { endStep, writeProvisionStep } from "./queue.ts";
import { rotationOf } from "../extend/rotation.ts";
import { functionOf, isOfPlanChange, LONGEST_STEP_MS, type Step } from "./step.ts";
import { settleRetired, settleStep } from "./store.ts";
import { isNotYet, resultIn, whenAgain, type NoteOdd } from "./vendor-results.ts";

// The steps that call the vendor's functions, in this one place. Each throws in order to be tried again.

export async function callVendor(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const result = await resultOf(ctx, step, signal);
  // While it is made for the first time, "later" is a result: `finish` goes on with it.
  const mayGoOn = step.kind === "finish" || step.kind === "rotate";
  if (result.is === "later" && mayGoOn) throw new StillUnderWay(result);
  step.result = result;
  // Goes on trying while the database is unreachable, as the vendor's function need not be called again.
  return retryWhileUnreachable(() => settle(ctx, step, result), { upToMs: LONGEST_STEP_MS });
}

export async function cleanUp(ctx: Context, step: Step, signal: AbortSignal): Promise<void> {
  await untilDone(ctx, step, signal, (resource) => ctx.vendor.deprovision(resource));
  await endStep(ctx.db, step);
}

export async function retire(ctx: Context, step: Step, signal: AbortSignal): Promise<void> {
  const { retires = null } = step.detail;
  await untilDone(ctx, step, signal, (resource) => rotationOf(ctx).retire(resource, retires));
  await settleRetired(ctx.db, step);
}

async function untilDone(...given: Parameters<typeof call<void | NotYet>>): Promise<void> {
  const outcome = await call(...given);
  const [ctx, step] = given;
  if (isNotYet(outcome)) throw new StillUnderWay(whenAgain(outcome, noteOdd(ctx, step)));
}

const noteOdd =
  ({ log }: Context, { kind, resource: { uuid }, requestId }: Step): NoteOdd =>
  (reason) =>
    log.error(
      { uuid, requestId, function: functionOf(kind), reason },
      "Your service returned what is no text; it is left out",
    );

/** The vendor's work goes on: the step is run again in `againInSeconds`. */
export class StillUnderWay extends Error {
  readonly againInSeconds: number;

  constructor({ message, againInSeconds }: { message: string; againInSeconds: number }) {
    super(message);
    this.againInSeconds = againInSeconds;
  }
}

const NEXT = { done: null, later: "finish", refused: "clean_up" } as const;

// The one rule of settling: if nobody was answered yet, the result is the answer, which is returned; else it is
// announced.
async function settle(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const { kind, detail, requestId, lease } = step;
  const { uuid, answerStatus, plan: kept } = step.resource;
  const isProvision = kind !== "rotate" && !isOfPlanChange(step);
  if (isProvision && answerStatus === null) {
    const answer = answerOf(result, uuid);
    const config = result.is === "done" ? result.config : null;
    if (await answerFirst(ctx, { uuid, answer, config, lease, next: NEXT[result.is] })) return answer;
  }
  const settled = await settleStep(ctx, step, result);
  if (settled && result.is === "refused") {
    const about = { uuid, requestId, kind, plan: detail.plan, kept, error: result.refusal };
    const isAccepted = settled.isAccepted || detail.isAccepted;
    const alarm = isProvision ? "provision_failed" : isAccepted ? "plan_change_refused" : null;
    if (alarm) ctx.log.error({ alarm, ...about }, "The service refused what was accepted");
    else
      ctx.log[kind === "rotate" ? "warn" : "info"](about, "The service refused a plan change or a rotation");
  }
  return settled && isOfPlanChange(step) ? answerOf(settled.result) : null;
}

export async function writeStepOf({ db }: Pick<Context, "db">, uuid: string): Promise<void> {
  await db.transaction(async (tx) => {
    if (await lockedResource(tx, uuid)) await writeProvisionStep(tx, uuid);
  });
}

/** The resource of a step as a vendor's function gets it: of a plan change, with the new plan. */
function vendorResource(vault: Vault, { resource, key, detail }: Step, signal: AbortSignal): VendorResource {
  const { uuid, name, plan, region, options } = resource;
  return {
    uuid,
    name,
    plan: detail.plan ?? plan,
    region,
    options,
    idempotencyKey: key,
    signal,
    ...logSecrets(vault, resource),
  };
}

function logSecrets(vault: Vault, { uuid, sealedLogInputUrl, sealedLogDrainToken }: ResourceRow) {
  const open = (column: "sealed_log_input_url" | "sealed_log_drain_token", sealed: Buffer | null) =>
    sealed && vault.open(resourceSealContext(column, uuid), sealed);
  return {
    logInputUrl: open("sealed_log_input_url", sealedLogInputUrl),
    logDrainToken: open("sealed_log_drain_token", sealedLogDrainToken),
  };
}

/**
 * Every secret of a resource that the vendor's code knows and may quote in an error: log addresses and config values.
 * Config values shorter than 8 characters are left out, since they are common words; so is what cannot be decrypted.
 */
export function secretsOf(vault: Vault, resource: ResourceRow): Secret[] {
  const found = [
    () => Object.values(logSecrets(vault, resource)),
    () =>
      openConfig(vault, resource).map(({ value }) => (value && value.length >= 8 ? new Secret(value) : null)),
  ];
  return found.flatMap((open) => {
    try {
      return open().filter((secret) => secret !== null);
    } catch {
      return [];
    }
  });
}

async function resultOf(ctx: Context, step: Step, signal: AbortSignal): Promise<Result> {
  const { vendor, offer } = ctx;
  const { plan, uuid } = step.resource;
  const work = (resource: VendorResource): Promise<Outcome | NotYet> => {
    if (step.kind === "provision") return vendor.provision(resource);
    if (step.kind === "change_plan") return vendor.changePlan(resource, plan);
    if (step.kind === "rotate") return rotationOf(ctx).rotate(resource);
    return vendor.finish(resource, ctx.platformFor(uuid));
  };
  try {
    return resultIn(offer, functionOf(step.kind), await call(ctx, step, signal, work), noteOdd(ctx, step));
  } catch (thrown) {
    const error = mayQuote(thrown, secretsOf(ctx.vault, step.resource));
    if (error instanceof Refusal) return { is: "refused", refusal: error };
    throw error;
  }
}

async function call<T extends Outcome | NotYet | void>(
  ctx: Context,
  step: Step,
  signal: AbortSignal,
  work: (resource: VendorResource) => Promise<T>,
): Promise<T> {
  const name = functionOf(step.kind);
  const { [name]: seconds = LONGEST_CALL_SECONDS } = ctx.offer.limits ?? {};
  const words = `The service's ${name}() was cut off after ${seconds} s, its limit: see limits in src/your-service/plans.ts.`;
  const late = () => new KitError("took_too_long", words);
  const isCut = (error: unknown) => signal.aborted || errorIdOf(error) === "took_too_long";
  const limits = { ms: seconds * 1_000, late, cuts: [signal] };
  const called = () => untilCut(limits, (wanted) => work(vendorResource(ctx.vault, step, wanted)));
  return timed(ctx, name, isCut, () => ctx.trace.inSpan(name, {}, called));
}

/** Times code of the vendor's. `isCut`: whether what it threw says that it was cut off. */
export async function timed<T>(
  { metrics }: Context,
  name: string,
  isCut: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  const startedMs = performance.now();
  let result = "done";
  try {
    const outcome = await work();
    if (isNotYet(outcome)) result = "later";
    return outcome;
  } catch (error) {
    result = isCut(error) ? "cut_off" : error instanceof Refusal ? "refused" : "failed";
    throw error;
  } finally {
    metrics.yourCall({ function: name, result }, (performance.now() - startedMs) / 1_000);
  }
}
