import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import type { Queryable } from "../database/statement.ts";
import { KitError } from "../errors.ts";
import type { Answer, Result } from "../resources/answers.ts";
import { mergedSet, openConfig, wantedOf } from "../resources/config-vars.ts";
import type { VendorResource } from "../resources/contract.ts";
import type { ResourceRow } from "../resources/rows.ts";
import type { Step } from "../resources/step-kinds.ts";
import type { SuspensionKind } from "../resources/steps.ts";
import { changeConfig, lockedResource } from "../resources/store.ts";
import { resultOf } from "../resources/vendor-steps.ts";
import { LONGEST_STEP_MS, type Run, StillUnderWay } from "../work/runner.ts";
import type { Extensions } from "./contract.ts";
import { announceConfig } from "./store.ts";
import {
  type Asker,
  changeReason,
  lastRequest,
  LONGEST_REASON,
  readReason,
  type Request,
  settleSuspension,
  writeRequest,
} from "./suspension-store.ts";

// Suspension of resources. A `suspend` or `resume` step calls your service, in its turn among the steps of the resource; when
// that is done, the resource is marked. A change of a suspended resource is followed by another `suspend` (step-store.ts).

export const NO_SUSPENSION =
  "This service cannot suspend resources: createYourService() in src/your-service/index.ts returns no suspend and resume (docs/extend-it.md).";

type Suspension = Required<Pick<Extensions, "suspend" | "resume">>;

function suspensionOf({ vendor }: Pick<Context, "vendor">): Suspension {
  if (!vendor.suspend || !vendor.resume) throw new KitError("no_suspension", NO_SUSPENSION);
  return vendor as Suspension;
}

/** The functions of the two kinds of steps of a suspension. */
export const SUSPENSION_STEPS: Readonly<Record<SuspensionKind, Run<Step, Answer>>> = {
  suspend: (ctx, step, signal) =>
    carryOut(ctx, step, signal, (resource) => {
      const { reason = resource.suspended!.reason } = step.detail;
      return suspensionOf(ctx).suspend(resource, reason);
    }),
  resume: (ctx, step, signal) =>
    carryOut(ctx, step, signal, (resource) => suspensionOf(ctx).resume(resource)),
};

type Call = (resource: VendorResource) => ReturnType<Suspension["suspend"]>;

async function carryOut(ctx: Context, step: Step, signal: AbortSignal, work: Call): Promise<void> {
  let hasConfig = false;
  const result = await resultOf(ctx, step, signal, async (resource) => {
    const outcome = await work(resource);
    hasConfig = Boolean(outcome);
    return outcome ?? { config: {} };
  });
  if (result.is === "later") throw new StillUnderWay(result);
  const config = result.is === "done" && hasConfig ? result.config : null;
  // Retried for long while the database is unreachable, so that the vendor's function need not be called again.
  const settled = () => ctx.db.transaction((tx) => settle(ctx, tx, step, result.is, config));
  const isOurs = await retryWhileUnreachable(settled, { upToMs: LONGEST_STEP_MS });
  if (isOurs) log(ctx, step, result);
}

/** `config`: the full set of config vars; `null` if they stay as they are. */
async function settle(
  ctx: Context,
  tx: Queryable,
  step: Step,
  is: Result["is"],
  config: Readonly<Record<string, string>> | null,
): Promise<boolean> {
  const { uuid, traceparent } = step;
  const resource = await lockedResource(tx, uuid);
  if (!(await settleSuspension(tx, step, is === "done"))) return false;
  if (config) await setConfig(ctx, tx, { before: step.resource, resource: resource!, config, traceparent });
  return true;
}

async function setConfig({ vault }: Context, tx: Queryable, change: ConfigChange): Promise<void> {
  const { before, resource, config, traceparent } = change;
  const { uuid } = resource;
  const present = openConfig(vault, resource);
  // A var that was set while the function ran is kept, unless the function changed it too.
  const vars = mergedSet(openConfig(vault, before), present, config);
  const [wanted, had] = [wantedOf(vars), wantedOf(present)];
  const names = vars.map(({ name }) => name).filter((name) => wanted[name] !== had[name]);
  if (names.length === 0) return;
  await changeConfig(tx, vault, resource, vars);
  await announceConfig(tx, { uuid, names, traceparent });
}

interface ConfigChange {
  /** As the vendor's function saw it, and as it is now. */
  before: ResourceRow;
  resource: ResourceRow;
  config: Readonly<Record<string, string>>;
  traceparent: string | null;
}

function log({ log }: Context, { uuid, kind, requestId, detail }: Step, result: Result): void {
  const about = { uuid, requestId, kind };
  if (result.is === "refused") log.warn({ ...about, error: result.refusal }, REFUSED[kind as SuspensionKind]);
  else if (!detail.isAgain) log.info(about, kind === "suspend" ? "Resource suspended" : "Resource resumed");
}

const REFUSED: Readonly<Record<SuspensionKind, string>> = {
  suspend: "Your service refused to suspend a resource; the resource stays as it was",
  resume: "Your service refused to resume a resource; the resource stays suspended",
};

/** `reason_changed`: the resource is suspended, or is to be, for another reason. `unchanged`: for this one. */
export type Suspending = "asked" | "reason_changed" | "unchanged";

/** Requests the suspension of a provisioned resource. Throws a `KitError` for any other, and without functions for it. */
export async function requestSuspension(
  ctx: Context,
  uuid: string,
  given: string,
  by: Asker,
): Promise<Suspending> {
  suspensionOf(ctx);
  const reason = readReason(given);
  const words = `The reason of a suspension must be a sentence for the customer, of 1 to ${LONGEST_REASON} characters.`;
  if (reason === null) throw new KitError("bad_reason", words);
  const request = { uuid, key: randomUUID(), kind: "suspend", reason, by } as const;
  return inTurn(ctx, request, async (tx, present, write) => {
    if (present === null) return write();
    if (present.reason === reason) return "unchanged";
    await changeReason(tx, { uuid, key: present.key, reason, by });
    return "reason_changed";
  });
}

/** Requests the end of a suspension. Throws as {@link requestSuspension} does. */
export async function requestResume(
  ctx: Context,
  uuid: string,
  by: Asker,
): Promise<"asked" | "not_suspended"> {
  suspensionOf(ctx);
  const request = { uuid, key: randomUUID(), kind: "resume", reason: null, by } as const;
  return inTurn(ctx, request, (_tx, present, write) => (present === null ? "not_suspended" : write()));
}

/** The suspension that is there, or will be after the open steps. `key`: that of its step, if it is not done yet. */
type Present = { key: string | null; reason: string | null } | null;

/** `decide` writes the request, or says why it does not. It may be called again if the database is unreachable. */
async function inTurn<Outcome>(
  ctx: Context,
  request: Omit<Request, "traceparent">,
  decide: (tx: Queryable, present: Present, write: () => Promise<"asked">) => Promise<Outcome> | Outcome,
): Promise<Outcome | "asked"> {
  const { uuid, key } = request;
  const traceparent = ctx.trace.current();
  const outcome = await retryWhileUnreachable(() =>
    ctx.db.transaction(async (tx) => {
      const resource = await lockedResource(tx, uuid);
      if (resource?.state !== "provisioned") throw notProvisioned(uuid, resource);
      const last = await lastRequest(tx, uuid);
      // An earlier attempt wrote it, and the acknowledgement was lost.
      if (last?.key === key) return "asked";
      const { suspendedAt, suspendReason: reason } = resource;
      const stored = suspendedAt && { key: null, reason };
      const present = last === null ? stored : last.kind === "suspend" ? last : null;
      return decide(tx, present, async () => {
        await writeRequest(tx, { ...request, traceparent });
        return "asked";
      });
    }),
  );
  ctx.wake.runSuspensions();
  return outcome;
}

function notProvisioned(uuid: string, resource: ResourceRow | null): KitError {
  const words =
    resource?.state === "provisioning"
      ? "is still being provisioned: suspend it when that is done"
      : "is not provisioned: there is nothing to suspend or to resume";
  return new KitError("not_provisioned", `Resource ${uuid} ${words}.`);
}
