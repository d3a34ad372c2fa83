import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/database.ts";
import { errorIdOf, KitError, mayQuote, Refusal } from "../errors.ts";
import { LONGEST_CALL_SECONDS } from "../offer.ts";
import { Secret } from "../secret.ts";
import { resourceSealContext, type Vault } from "../vault/vault.ts";
import { untilCut } from "../within.ts";
import { LONGEST_STEP_MS, StillUnderWay } from "../work/runner.ts";
import { answerOf, type Answer, type Result } from "./answers.ts";
import { openConfig } from "./config-vars.ts";
import type { NotYet, Outcome, Rotated, VendorResource } from "./contract.ts";
import type { ResourceRow } from "./rows.ts";
import { functionOf, isOfPlanChange, type Step } from "./step.ts";
import { settleStep } from "./step-store.ts";
import { answerFirst } from "./store.ts";
import { isNotYet, resultIn, whenAgain, type NoteOdd } from "./vendor-results.ts";

// The steps that call the vendor's functions, in this one place. Each throws in order to be tried again.

type Call<Returned> = (resource: VendorResource) => Promise<Returned>;

/** Calls a function that makes, changes or rotates something, and settles what it returned. */
export async function callVendor(
  ctx: Context,
  step: Step,
  signal: AbortSignal,
  work: Call<Outcome | NotYet | Rotated>,
): Promise<Answer | null> {
  const result = await resultOf(ctx, step, signal, work);
  // While it is made for the first time, "later" is a result: `finish` goes on with it.
  const mayGoOn = step.kind === "finish" || step.kind === "rotate";
  if (result.is === "later" && mayGoOn) throw new StillUnderWay(result);
  step.result = result;
  // Goes on trying while the database is unreachable, as the vendor's function need not be called again.
  return retryWhileUnreachable(() => settle(ctx, step, result), { upToMs: LONGEST_STEP_MS });
}

/** Calls a function that ends something; throws until that is done. */
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
      "Your service returned what is no text; it is left out",
    );

const NEXT = { done: "nothing", later: "finish", refused: "clean_up" } as const;

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
