import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import { failUnanswered, lockWithCredential } from "../resources/end-store.ts";
import { expireProvision, finishStep } from "../work/queue.ts";
import { nudge } from "../work/runner.ts";
import { resourcesToTake, settleStep, takeSteps, type Hand } from "../work/store.ts";
import { writeStepOf } from "../work/vendor-steps.ts";
import { forEachResource, type How, type Report, type Which } from "./work-through.ts";

// What an operator does to the unfinished work of the vendor's functions when these hang or fail.

/** The work of such an action: `work` is done to each resource, or `none` said of it where there is nothing to do. */
export function onSteps(hand: Hand, none: string, work = take) {
  return async (ctx: Context, which: Which, how: How): Promise<Report> => {
    const report = await forEachResource(
      ctx,
      which === "all" ? await resourcesToTake(ctx, hand) : which,
      async ({ uuid }) => ((await work(ctx, uuid, hand)) ? null : { skipped: none }),
      how,
    );
    nudge(ctx);
    ctx.nudge("run-rotations");
    return report;
  };
}

/** False: there is nothing to take. */
async function take({ db }: Context, uuid: string, hand: Hand): Promise<boolean> {
  return (await retryWhileDatabaseAway(() => takeSteps(db, uuid, hand))).length > 0;
}

const GIVEN_UP = new Refusal("An operator gave it up.", { id: "given_up" });

/**
 * A provision that was answered "later" fails as after 11 hours; of one that was not answered, the answer is then the
 * refusal. A plan change is dropped as if it were refused; any other work just ends. No call of it is made again.
 */
export async function giveUp(ctx: Context, uuid: string, hand: Hand): Promise<boolean> {
  let isDone = false;
  await retryWhileDatabaseAway(async () => {
    await writeStepOf(ctx, uuid);
    await ctx.db.transaction(async (tx) => {
      await lockWithCredential(tx, uuid);
      const taken = await takeSteps(tx, uuid, hand);
      const isUnanswered = taken.some(
        ({ kind, resource }) => kind === "provision" && resource.answerStatus === null,
      );
      if (isUnanswered) await failUnanswered(tx, ctx.vault, uuid);
      else if (taken.length > 0) await expireProvision(tx, uuid);
      // Those of the provision are not ours any more, and stay as they are.
      for (const step of taken) {
        const settled = await settleStep({ db: tx, vault: ctx.vault }, step, {
          is: "refused",
          refusal: GIVEN_UP,
        });
        if (!settled) await finishStep(tx, step);
      }
      isDone ||= taken.length > 0;
    });
  });
  return isDone;
}
