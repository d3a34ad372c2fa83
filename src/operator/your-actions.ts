import type { Context } from "../context.ts";
import { KitError } from "../errors.ts";
import { callAction } from "../extend/calls.ts";
import { findForVendor } from "../extend/store.ts";
import { UsedWrongly } from "./errors.ts";
import type { How } from "./work-through.ts";

const MOST_SECONDS = 600;

/** What your service lets an operator do to one resource. */
export const yourActions = ({ vendor }: Context) =>
  Object.entries(vendor.operatorActions ?? {}).map(([name, { label, effect }]) => ({ name, label, effect }));

/** Runs one of them, and answers its sentence. Throws `KitError`s: what else the action throws is only logged. */
export async function runYourAction(
  ctx: Context,
  name: string,
  uuid: string,
  { signal }: Pick<How, "signal">,
): Promise<string> {
  const actions = ctx.vendor.operatorActions ?? {};
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action)
    throw new UsedWrongly(
      `Your service has no action "${name}". Actions: ${Object.keys(actions).join(", ") || "none"}.`,
    );
  const resource = await findForVendor(ctx, uuid);
  if (!resource) throw new KitError("not_provisioned", `Resource ${uuid} is not there, or not any more.`);
  return callAction(
    ctx,
    { name: `operatorActions.${name}`, uuid, mostSeconds: MOST_SECONDS, cut: signal },
    (ended) => action.run(resource, ended),
  ).catch((error: unknown) => {
    if (error instanceof KitError) throw error;
    ctx.log.error({ uuid, operatorAction: name, error }, "An action of the service for operators failed");
    throw new KitError("action_failed", "The action failed: the log says why.");
  });
}
