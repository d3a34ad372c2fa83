import type { Context } from "../context.ts";
import { KitError } from "../errors.ts";
import { callAction } from "../extend/calls.ts";
import type { OperatorAction } from "../extend/contract.ts";
import { findForYou } from "../extend/store.ts";
import { UsedWrongly } from "./errors.ts";
import type { How } from "./work-through.ts";

const MOST_SECONDS = 600;

/** What your service lets an operator do to one resource. */
export function yourActions({ vendor }: Context): (OperatorAction & { name: string })[] {
  return Object.entries(vendor.operatorActions ?? {}).map(([name, action]) => ({ name, ...action }));
}

/** Runs one of them, and answers its sentence. Throws {@link UsedWrongly}, and what the action throws. */
export async function runYourAction(
  ctx: Context,
  name: string,
  uuid: string,
  { signal }: Pick<How, "signal">,
): Promise<string> {
  const actions = yourActions(ctx);
  const action = actions.find((each) => each.name === name);
  if (!action)
    throw new UsedWrongly(
      `Your service has no action "${name}". Actions: ${actions.map((each) => each.name).join(", ") || "none"}.`,
    );
  const resource = await findForYou(ctx.db, uuid);
  if (!resource) throw new KitError("not_provisioned", `Resource ${uuid} is not there, or not any more.`);
  return callAction(
    ctx,
    { name: `operatorActions.${name}`, uuid, mostSeconds: MOST_SECONDS, cut: signal },
    (ended) => action.run(resource, ended),
  );
}
