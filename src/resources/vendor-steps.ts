import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { errorIdOf, KitError, mayQuote, Refusal } from "../errors.ts";
import { LONGEST_CALL_SECONDS, meaningOf } from "../offer.ts";
import { optionsLeft, readOptions } from "../options.ts";
import { Secret } from "../secret.ts";
import { resourceSealContext, type Vault } from "../vault/vault.ts";
import { untilCut } from "../within.ts";
import { LONGEST_STEP_MS, StillUnderWay } from "../work/runner.ts";
import { type Answer, answerOf, type Result } from "./answers.ts";
import { openConfig } from "./config-vars.ts";
import type { NotYet, Outcome, Rotated, VendorResource } from "./contract.ts";
import type { ResourceRow } from "./rows.ts";
import { functionOf, isOfPlanChange, type Step } from "./step-kinds.ts";
import { settleStep } from "./step-store.ts";
import { answerFirst } from "./store.ts";
import { isNotYet, type NoteOdd, resultIn, whenAgain } from "./vendor-results.ts";

// The steps that call the vendor's functions. A step that throws is retried.

type Call<Returned> = (resource: VendorResource) => Promise<Returned>;

/** Calls a vendor's function that makes, changes or rotates something, and stores its result. */
export async function callVendor(
  ctx: Context,
  step: Step,
  signal: AbortSignal,
  work: Call<Outcome | NotYet | Rotated>,
): Promise<Answer | null> {
  const result = await resultOf(ctx, step, signal, work);
  // A `provision` or `change_plan` that returns "later" becomes a `finish`. These two kinds run again.
  const runsAgain = step.kind === "finish" || step.kind === "rotate";
  if (result.is === "later" && runsAgain) throw new StillUnderWay(result);
  step.result = result;
  // Retried for long while the database is unreachable, so that the vendor's function need not be called again.
  return retryWhileUnreachable(() => settle(ctx, step, result), { upToMs: LONGEST_STEP_MS });
}

/** Calls a vendor's function that ends something. Throws {@link StillUnderWay} while the function answers "later". */
export async function untilDone(
  ctx: Context,
  step: Step,
  signal: AbortSignal,
  work: Call<void | NotYet>,
): Promise<void> {
  const outcome = await call(ctx, step, signal, work);
  if (isNotYet(outcome)) throw new StillUnderWay(whenAgain(outcome, noteOdd(ctx, step)));
}

const noteOdd =
  ({ log }: Context, { kind, resource: { uuid }, requestId }: Step): NoteOdd =>
  (reason) =>
    log.error(
      { uuid, requestId, function: functionOf(kind), reason },
      "Your service returned a member that is not a string; the member is ignored",
    );

// The rule of settling: the result of a provision is the answer to its request, unless the request was answered "later"
// before. Then, as for every other kind, the step becomes the one that carries the result to the platform.
async function settle(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  return (await settleByAnswer(ctx, step, result)) ?? settleByNextStep(ctx, step, result);
}

const isOfProvision = (step: Step) => step.kind !== "rotate" && !isOfPlanChange(step);

const NEXT = { done: "none", later: "finish", refused: "clean_up" } as const;

/** Returns the answer if this result decided it. */
async function settleByAnswer(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const { uuid, answerStatus } = step.resource;
  if (!isOfProvision(step) || answerStatus !== null) return null;
  const answer = answerOf(result, uuid);
  const config = result.is === "done" ? result.config : null;
  const isFirst = await answerFirst(ctx, { uuid, answer, config, lease: step.lease, next: NEXT[result.is] });
  return isFirst ? answer : null;
}

/** Returns the answer to the request of a plan change, which may still wait for it. */
async function settleByNextStep(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const settled = await settleStep(ctx, step, result);
  if (settled && result.is === "refused") logRefusal(ctx, step, result.refusal, settled.isAccepted);
  return settled && isOfPlanChange(step) ? answerOf(settled.result) : null;
}

/** An alarm if the platform was answered 202: the customer believes that the work is done. */
function logRefusal({ log }: Context, step: Step, refusal: Refusal, isAccepted: boolean): void {
  const { kind, detail, requestId, resource } = step;
  const { uuid, plan: kept } = resource;
  const about = { uuid, requestId, kind, plan: detail.plan, kept, error: refusal };
  const wasAccepted = isAccepted || detail.isAccepted;
  const alarm = isOfProvision(step) ? "provision_failed" : wasAccepted ? "plan_change_refused" : null;
  if (alarm)
    log.error({ alarm, ...about }, "Your service refused a provision or plan change that was answered 202");
  else log[kind === "rotate" ? "warn" : "info"](about, "Your service refused a plan change or a rotation");
}

/** The resource of a step as a vendor's function gets it. A plan change gets the new plan. */
function vendorResource(
  { vault, offer }: Context,
  { kind, resource, key, detail }: Step,
  signal: AbortSignal,
): VendorResource {
  const { uuid, name, region } = resource;
  const plan = detail.plan ?? resource.plan;
  const { limits, features } = meaningOf(offer, plan);
  const read = kind === "clean_up" ? optionsLeft : readOptions;
  return {
    uuid,
    name,
    plan,
    limits,
    features,
    region,
    options: read(offer.options, resource.options),
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
 * Every secret of a resource that the vendor's code has and may quote in an error: log addresses and config values.
 * Config values shorter than 8 characters are left out, since they may be common words. Values that cannot be decrypted
 * are left out too.
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

async function resultOf(
  ctx: Context,
  step: Step,
  signal: AbortSignal,
  work: Call<Outcome | NotYet | Rotated>,
): Promise<Result> {
  const name = functionOf(step.kind);
  try {
    return resultIn(ctx.offer, name, await call(ctx, step, signal, work), noteOdd(ctx, step));
  } catch (thrown) {
    const error = mayQuote(thrown, secretsOf(ctx.vault, step.resource));
    if (error instanceof Refusal) return { is: "refused", refusal: error };
    throw error;
  }
}

async function call<T extends Outcome | NotYet | Rotated | void>(
  ctx: Context,
  step: Step,
  signal: AbortSignal,
  work: Call<T>,
): Promise<T> {
  const name = functionOf(step.kind);
  const { [name]: seconds = LONGEST_CALL_SECONDS } = ctx.offer.limits ?? {};
  const words = `The service's ${name}() was aborted after its limit of ${seconds} s (limits in src/your-service/plans.ts).`;
  const late = () => new KitError("took_too_long", words);
  const isCut = (error: unknown) => signal.aborted || errorIdOf(error) === "took_too_long";
  const limits = { ms: seconds * 1_000, late, cuts: [signal] };
  const called = () => untilCut(limits, (wanted) => work(vendorResource(ctx, step, wanted)));
  return timed(ctx, name, isCut, () => ctx.trace.inSpan(name, {}, called));
}

/** Measures a call of the vendor's code. `isCut`: whether a thrown error means that the call was aborted. */
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
