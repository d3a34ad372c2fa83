import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import { NO_ROTATION, requestRotation, rotationOf } from "../extend/rotation.ts";
import { refuseWhileHeld } from "../processes/history.ts";
import { failLocked, lockWithCredential } from "../resources/end-store.ts";
import { expireProvision } from "../resources/late-steps.ts";
import { isOfPlanChange, type Step } from "../resources/step-kinds.ts";
import { settleStep } from "../resources/step-store.ts";
import { wakeAll } from "../resources/steps.ts";
import { endStep } from "../work/queue.ts";
import { type Left, refreshesLeft, rotationsLeft } from "./left.ts";
import { type Hand, resourcesToTake, takeSteps } from "./store.ts";
import { LEGACY_GRANTS_OFF, recoverGrants, refreshTokens } from "./tokens.ts";
import { forEachResource, type How, type Report, type Which } from "./work-through.ts";

/** What an operator does to one resource, to several, or to all: a command `kit [GROUP] VERB`, and two pages. */
export interface BulkAction {
  group?: string;
  about?: string;
  verb: string;
  /** In the list of all commands, if `does` is too long for it. */
  summary?: string;
  does: string;
  all: string;
  doneWord: string;
  /** What the command asks before, unless it is given --yes. */
  question?: string;
  /** On the pages: their titles, and what they say before the button is pressed. */
  labels: { one: string; all: string };
  effect: string;
  /** What it takes does not come back. */
  isDangerous?: boolean;
  /** Of how many resources it takes something, if it is done to all. */
  count?(ctx: Pick<Context, "db">): Promise<number>;
  /** A sentence if it cannot be done now. */
  whyNot?(ctx: Context): string | null;
  work(ctx: Context, which: Which, how: How): Promise<Report>;
  /** What a running service still does of it, if it goes on. */
  left?: Left;
}

const OF_STEPS = { group: "steps", about: "unfinished work of your functions" };

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    ...OF_STEPS,
    verb: "retry",
    does: "call your functions again at once, where they failed or said later",
    all: "all work that waits for its next call",
    doneWord: "due now",
    labels: { one: "Try its work now", all: "Try all work now" },
    effect:
      "What waits for its next call, after one that failed or said later, is called at once. It would be by itself, after 5 minutes at most or when your service said: this is for when your backend works again.",
    ...onSteps("step_retried", "nothing_waits"),
  },
  {
    ...OF_STEPS,
    verb: "cut-off",
    does: "cut off calls of your functions that hang, and make them again",
    all: "all calls under way",
    doneWord: "cut off",
    labels: { one: "Cut its calls off", all: "Cut all calls off" },
    effect:
      "The signal of each call under way is aborted within 3 seconds, its result is ignored, and the function is called again after 5 seconds, with the same idempotency key: this is for calls that hang.",
    ...onSteps("step_cut_off", "nothing_under_way"),
  },
  {
    ...OF_STEPS,
    verb: "give-up",
    does: "give up work that your functions do not end",
    all: "all work that failed at its last call, or whose call has gone on for a minute",
    doneWord: "given up",
    question: "Give it up for good?",
    labels: { one: "Give its work up", all: "Give up all late work" },
    effect:
      "A provision that is not done fails: the platform is told so, and your service removes what it made. A plan change or a rotation is dropped, as if your service had refused it; what waits behind it continues. Taking down and retiring end where they are: what is left stays in your backend. None of it comes back.",
    isDangerous: true,
    ...onSteps("step_given_up", "nothing_to_give_up", giveUp),
  },
  {
    group: "tokens",
    about: "access tokens of resources",
    verb: "refresh",
    does: "get new access tokens now, due or not",
    all: "all resources that have working tokens",
    doneWord: "refreshed",
    labels: { one: "Refresh its token", all: "Refresh all tokens" },
    effect:
      "Requests new access tokens, due or not. The one there is works until the new one is stored. The service refreshes by itself when it is time: this is for after an incident, or to be sure.",
    work: refreshTokens,
    left: refreshesLeft,
  },
  {
    group: "grants",
    about: "grants of resources without tokens",
    verb: "recover",
    does: "get lost grants again at the platform's oauth-grant endpoint, and exchange them",
    all: "all resources whose grant was lost or never came",
    doneWord: "recovered",
    labels: { one: "Recover its grant", all: "Recover all lost grants" },
    effect:
      "The platform's oauth-grant endpoint is asked for a new grant, which is exchanged at once. Where the grant was exchanged before, it gives no other.",
    whyNot: ({ config }) => (config.legacyGrants ? null : LEGACY_GRANTS_OFF),
    work: recoverGrants,
  },
  {
    verb: "rotate",
    summary: "replace customers' credentials",
    does: "have your service make new credentials, and retire the old ones later; of a named resource, those of an earlier rotation at once",
    all: "all resources that are provisioned, but those whose last rotation still overlaps",
    doneWord: "asked for",
    labels: { one: "Rotate its credentials", all: "Rotate all credentials" },
    effect:
      "Your service makes new credentials, which are set as config vars. The old ones work for two hours after that, or as long as your service says, and are then retired. Of one resource, those of an earlier rotation that still work are retired at once; of all, a resource that has such is skipped.",
    whyNot: ({ vendor }) => (vendor.rotation ? null : NO_ROTATION),
    left: rotationsLeft,
    async work(ctx, which, how) {
      rotationOf(ctx);
      await refuseWhileHeld(ctx.db);
      return forEachResource(
        ctx,
        which,
        async ({ uuid, state, credential }) => {
          if (state !== "provisioned") return { skipped: state };
          const end = await requestRotation(ctx, uuid, which === "all" ? "operator_of_all" : "operator");
          return end === "asked" ? null : { skipped: end === "no_tokens" ? credential : end };
        },
        { ...how, isWanted: ({ state }) => state === "provisioned" },
      );
    },
  },
];

/**
 * `work` is done to each resource, or `none` said of it where there is nothing to do. It is done once: if the database
 * fails meanwhile, the resource's story says whether it was.
 */
function onSteps(hand: Hand, none: string, work = ({ db }: Context, asked: Asked) => takeSteps(db, asked)) {
  return {
    count: async ({ db }: Pick<Context, "db">) => (await resourcesToTake(db, hand)).length,
    async work(ctx: Context, which: Which, how: How): Promise<Report> {
      // Before: what is made due now may be under way soon.
      const underWay = new Set(hand === "step_retried" ? await resourcesToTake(ctx.db, "step_cut_off") : []);
      const report = await forEachResource(
        ctx,
        which === "all" ? await resourcesToTake(ctx.db, hand) : which,
        async ({ uuid }) => {
          const steps = await work(ctx, { uuid, hand, isNamed: which !== "all" });
          if (steps.length > 0) return null;
          return { skipped: underWay.has(uuid) ? "under_way" : none };
        },
        how,
      );
      wakeAll(ctx);
      return which === "all" && underWay.size > 0 ? { ...report, underWay: underWay.size } : report;
    },
  };
}

type Asked = Parameters<typeof takeSteps>[1];
const GIVEN_UP = new Refusal("An operator gave it up.", { id: "given_up" });

/**
 * A provision that was answered "later" fails as after 11 hours; of one that was not answered, the answer is then the
 * refusal. A plan change is dropped as if it were refused; any other work just ends. No call of it is made again, and
 * what waited behind it goes on.
 */
export async function giveUp(ctx: Context, asked: Asked): Promise<Step[]> {
  const { uuid } = asked;
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
      if (!(await settleStep({ db: tx, vault: ctx.vault }, step, result))) await endStep(tx, step);
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
