import { once } from "node:events";
import { types } from "node:util";
import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { KitError, Refusal, mayQuote } from "../errors.ts";
import { answerOf, type Answer, type Result } from "../resources/answers.ts";
import { LONGEST_CALL_SECONDS } from "../resources/check-offer.ts";
import { openConfig } from "../resources/config-vars.ts";
import type { Done, Later, NotYet, Offer, Outcome, VendorResource } from "../resources/contract.ts";
import type { ResourceRow } from "../resources/rows.ts";
import { afterAnswer } from "../resources/states.ts";
import { answerFirst, lockedResource } from "../resources/store.ts";
import { Secret } from "../secret.ts";
import { resourceSealContext } from "../vault/contexts.ts";
import type { Vault } from "../vault/vault.ts";
import { finishStep, writeProvisionStep } from "./queue.ts";
import { functionOf, isOfPlanChange, LONGEST_STEP_MS, type Step } from "./step.ts";
import { settleStep } from "./store.ts";

// The steps that call the vendor's functions, in this one place. Each throws in order to be tried again.

/** Calls `provision`, `changePlan` or `finish`, and settles what it returned or refused. */
export async function callVendor(ctx: Context, step: Step, signal: AbortSignal): Promise<Answer | null> {
  const result = await resultOf(ctx, step, signal);
  if (step.kind === "finish" && result.is === "later") throw new StillUnderWay(result);
  step.result = result;
  // Goes on trying while the database is unreachable, as the vendor's function need not be called again.
  return retryWhileDatabaseAway(
    () => (isOfPlanChange(step) ? settleChange : settleProvision)(ctx, step, result),
    { upToMs: LONGEST_STEP_MS },
  );
}

export async function cleanUp(ctx: Context, step: Step, signal: AbortSignal): Promise<null> {
  const outcome = await call(ctx, step, signal, (resource) => ctx.vendor.deprovision(resource));
  if (isNotYet(outcome)) throw new StillUnderWay(whenAgain(outcome));
  await finishStep(ctx.db, step);
  return null;
}

/** Thrown by a step while the vendor's work goes on: the step is run again in `againInSeconds`. */
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
async function settleProvision(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const { uuid, answerStatus } = step.resource;
  if (answerStatus === null) {
    const answer = answerOf(result, uuid);
    const config = result.is === "done" ? result.config : null;
    const first = { uuid, answer, config, state: afterAnswer(result.is), lease: step.lease };
    if (await answerFirst(ctx, { ...first, next: NEXT[result.is] })) return answer;
  }
  if ((await settleStep(ctx, step, result)) && result.is === "refused")
    ctx.log.error(
      { alarm: "provision_failed", uuid, requestId: step.requestId, error: result.refusal },
      "The service refused what it had put off",
    );
  return null;
}

async function settleChange(ctx: Context, step: Step, result: Result): Promise<Answer | null> {
  const settled = await settleStep(ctx, step, result);
  if (!settled) return null;
  if (result.is === "refused") {
    const { uuid, plan: kept } = step.resource;
    const about = { uuid, requestId: step.requestId, plan: step.detail.plan, kept, error: result.refusal };
    if (settled.isAccepted || step.detail.isAccepted)
      ctx.log.error({ alarm: "plan_change_refused", ...about }, "The service refused an accepted plan");
    else ctx.log.info(about, "The service refused a plan");
  }
  return answerOf(result);
}

/** Writes the step of a provision that has none. */
export async function writeStepOf({ db }: Pick<Context, "db">, uuid: string): Promise<void> {
  await db.transaction(async (tx) => {
    if (await lockedResource(tx, uuid)) await writeProvisionStep(tx, uuid);
  });
}

/** The resource of a step as a vendor's function gets it: of a plan change, with the new plan. */
function vendorResource(vault: Vault, { resource, key, detail }: Step, signal: AbortSignal): VendorResource {
  const { uuid, name, plan, region, options } = resource;
  return {
    ...{ uuid, name, region, options, signal },
    plan: detail.plan ?? plan,
    idempotencyKey: key,
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
  const values = () => openConfig(vault, resource).map(({ value }) => value ?? "");
  const found = [
    () => Object.values(logSecrets(vault, resource)),
    () => values().map((value) => (value.length < 8 ? null : new Secret(value))),
  ];
  return found.flatMap((open) => {
    try {
      return open().filter((secret) => secret !== null);
    } catch {
      return [];
    }
  });
}

/** What the vendor's function returned or refused. Throws any other error. */
async function resultOf(ctx: Context, step: Step, signal: AbortSignal): Promise<Result> {
  const { vendor, offer } = ctx;
  const { plan, uuid } = step.resource;
  const work: (resource: VendorResource) => Promise<Outcome | NotYet> = {
    provision: (resource: VendorResource) => vendor.provision(resource),
    change_plan: (resource: VendorResource) => vendor.changePlan(resource, plan),
    finish: (resource: VendorResource) => vendor.finish(resource, ctx.platformFor(uuid)),
  }[step.kind as "provision" | "change_plan" | "finish"];
  try {
    return resultIn(offer, functionOf(step.kind), await call(ctx, step, signal, work));
  } catch (thrown) {
    const error = mayQuote(thrown, secretsOf(ctx.vault, step.resource));
    if (error instanceof Refusal) return { is: "refused", refusal: error };
    throw error;
  }
}

/** A call of a vendor's function took longer than the offer allows. */
class TookTooLong extends KitError {
  constructor(name: string, seconds: number) {
    super(
      "took_too_long",
      `The service's ${name}() was cut off after ${seconds} s, its limit: see limits in src/your-service/plans.ts.`,
    );
  }
}

/**
 * Calls a function of the vendor's, and times it until it ends or is cut off: when `signal` is aborted, or after its
 * limit. Then this rejects, also if the function does not end.
 */
async function call<T extends Outcome | NotYet | void>(
  { offer, vault, metrics }: Context,
  step: Step,
  signal: AbortSignal,
  work: (resource: VendorResource) => Promise<T>,
): Promise<T> {
  const name = functionOf(step.kind);
  const { [name]: seconds = LONGEST_CALL_SECONDS } = offer.limits ?? {};
  const wanted = new AbortController();
  const limit = setTimeout(() => wanted.abort(new TookTooLong(name, seconds)), seconds * 1_000);
  const cutOff = () => wanted.abort(signal.reason);
  signal.addEventListener("abort", cutOff);
  const aborted = once(wanted.signal, "abort").then(() => Promise.reject(wanted.signal.reason as Error));
  const startedMs = performance.now();
  const count = (result: string) =>
    metrics.yourCall({ function: name, result }, (performance.now() - startedMs) / 1_000);
  try {
    const outcome = await Promise.race([work(vendorResource(vault, step, wanted.signal)), aborted]);
    count(isNotYet(outcome) ? "later" : "done");
    return outcome;
  } catch (error) {
    count(wanted.signal.aborted ? "cut_off" : error instanceof Refusal ? "refused" : "failed");
    throw error;
  } finally {
    signal.removeEventListener("abort", cutOff);
    clearTimeout(limit);
  }
}

/** The vendor's function answered something the contract does not allow. */
class BrokenContract extends KitError {
  constructor(message: string) {
    super("broken_contract", message);
  }
}

// What a vendor's function may return. The types say the same; this holds at run time too, as a wrong config cannot be
// taken back once it was sent.

function resultIn(offer: Offer, name: string, outcome: Outcome | NotYet | undefined | null): Result {
  // A forgotten `return` would otherwise show as an error in the kit's own code.
  if (outcome === undefined || outcome === null)
    throw new BrokenContract(
      `The service's ${name}() returned nothing; it must return its config, or later. Is a return missing?`,
    );
  if (isNotYet(outcome)) {
    if ((outcome as Partial<Done>).config != null)
      throw new BrokenContract(
        "The service returned both config and later: return later alone until the work is done.",
      );
    return { is: "later", ...whenAgain(outcome) };
  }
  return { is: "done", config: checkedConfig(offer, outcome.config), message: outcome.message };
}

/** Where no result is asked for, anything else that a function of the vendor's returns is ignored. */
function isNotYet(outcome: Done | Later | void): outcome is Later {
  return (outcome as Partial<Later> | null | undefined)?.later != null;
}

/** The sentence of a `later`, and in how many seconds to call again: 1 to 3,600. */
function whenAgain({ later, againInSeconds = 30 }: NotYet) {
  const seconds = Math.min(Math.max(againInSeconds, 1), 3_600);
  return { message: String(later).trim() || "The work goes on.", againInSeconds: seconds || 30 };
}

/**
 * Only declared names, and only texts that an environment can hold: the platform would refuse anything else, which is
 * final for a provision. In anything but a plain object, such as a list, a Map or a promise, no vars would be found, and
 * those of the app would be removed.
 */
function checkedConfig(offer: Offer, config: unknown): Record<string, string> {
  if (Object.prototype.toString.call(config) !== "[object Object]")
    throw new BrokenContract(
      `The service must return its config as a plain object of names and texts.${isAwaitMissing(config)}`,
    );
  for (const [name, value] of Object.entries(config as object)) checkVar(offer, name, value);
  return { ...(config as Record<string, string>) };
}

const isAwaitMissing = (value: unknown) => (types.isPromise(value) ? " Is an await missing?" : "");

/** Throws a {@link BrokenContract} for a config var that the offer does not declare, or that is no text for it. */
export function checkVar({ configVars }: Offer, name: string, value: unknown): void {
  if (!configVars.includes(name))
    throw new BrokenContract(
      `The service set ${name}, which is not among configVars in src/your-service/plans.ts.`,
    );
  // Its type, never the value itself, which may be secret.
  if (typeof value !== "string")
    throw new BrokenContract(
      `The service set ${name} to something of type ${value === null ? "null" : typeof value}, and not to a text.${isAwaitMissing(value)}`,
    );
  if (value.includes("\0") || !value.isWellFormed())
    throw new BrokenContract(`The service set ${name} to a text with a NUL or with broken Unicode.`);
}
