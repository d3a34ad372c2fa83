import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import { failLocked, lockWithCredential } from "../resources/end-store.ts";
import { expireProvision, finishStep } from "../work/queue.ts";
import { nudge } from "../work/runner.ts";
import { functionOf, isOfPlanChange, type Step } from "../work/step.ts";
import { resourcesToTake, settleStep, takeSteps, type Hand } from "../work/store.ts";
import { writeStepOf } from "../work/vendor-steps.ts";
import { forEachResource, type How, type Report, type Which } from "./work-through.ts";

// What an operator does to the unfinished work of the vendor's functions when these hang or fail.

type Asked = Parameters<typeof takeSteps>[1];

/**
 * The work of such an action: `work` is done to each resource, or `none` said of it where there is nothing to do. It is
 * done once: if the database fails meanwhile, the resource's story says whether it was.
 */
export function onSteps(hand: Hand, none: string, work = take) {
  return async (ctx: Context, which: Which, how: How): Promise<Report> => {
    const report = await forEachResource(
      ctx,
      which === "all" ? await resourcesToTake(ctx, hand) : which,
      async ({ uuid }) => {
        const steps = await work(ctx, { uuid, hand, isNamed: which !== "all" });
        return steps.length > 0
          ? { did: steps.map(({ kind }) => functionOf(kind)).join(", ") }
          : { skipped: none };
      },
      how,
    );
    nudge(ctx);
    return report;
  };
}

const take = ({ db }: Context, asked: Asked): Promise<Step[]> => takeSteps(db, asked);

const GIVEN_UP = new Refusal("An operator gave it up.", { id: "given_up" });

/**
 * A provision that was answered "later" fails as after 11 hours; of one that was not answered, the answer is then the
 * refusal. A plan change is dropped as if it were refused; any other work just ends. No call of it is made again, and
 * what waited behind it goes on.
 */
export async function giveUp(ctx: Context, asked: Asked): Promise<Step[]> {
  const { uuid } = asked;
  await writeStepOf(ctx, uuid);
  const steps = await ctx.db.transaction(async (tx) => {
    await lockWithCredential(tx, uuid);
    const taken = await takeSteps(tx, asked);
    const isUnanswered = taken.some(
      ({ kind, resource }) => kind === "provision" && resource.answerStatus === null,
    );
    if (isUnanswered) await failLocked(tx, ctx.vault, uuid);
    else if (taken.length > 0) await expireProvision(tx, uuid);
    // Those of the provision are not ours any more, and stay as they are.
    for (const step of taken) {
      const result = { is: "refused", refusal: GIVEN_UP } as const;
      if (!(await settleStep({ db: tx, vault: ctx.vault }, step, result))) await finishStep(tx, step);
    }
    return taken;
  });
  for (const { detail, requestId, resource } of steps) {
    const about = { uuid, requestId, plan: detail.plan, kept: resource.plan, error: GIVEN_UP };
    if (isOfPlanChange({ detail }) && detail.isAccepted)
      ctx.log.error({ alarm: "plan_change_refused", ...about }, "An operator gave an accepted plan up");
  }
  return steps;
}
