import { setTimeout as sleep } from "node:timers/promises";
import { type Request, Router } from "express";
import type { Context, OpenContext } from "../../context.ts";
import type { Database } from "../../database/database.ts";
import { isDatabaseUnreachable } from "../../database/retry.ts";
import { KitError, messageOf } from "../../errors.ts";
import { methodNotAllowed } from "../../http/requests.ts";
import type { Log } from "../../logging/log.ts";
import { addressOf, goTo, isFromOurPage } from "../../pages/address.ts";
import { formIn, formOf, parseForm, tokenFor } from "../../pages/forms.ts";
import { notFromOurPage, show } from "../../pages/pages.tsx";
import { countKeyUse } from "../../vault/store.ts";
import { type ActionRequest, beginAction, followAction } from "../audit.ts";
import { BULK_ACTIONS, type BulkAction } from "../bulk-actions.ts";
import { secretInWords, setSecret, typedClientSecret, waitUntilFresh } from "../client-secret.ts";
import { changedInWords, diffConfig, pushConfig, type VarDifference } from "../config-vars.ts";
import { typedUuid } from "../errors.ts";
import { keysInWords, resealAll, resealInWords } from "../keys.ts";
import { isWhole, reportInWords, wasInterrupted } from "../report.ts";
import { showResource } from "../resources.ts";
import { counted } from "../wording.ts";
import { runYourAction, yourActions } from "../your-actions.ts";
import type { Action, ActionWork, WorkEnd } from "./action.ts";
import { MOUNT, operatorOf, purposeOf } from "./frame.tsx";
import { runsOf } from "./jobs-page.tsx";
import { FIXES } from "./ledgers-page.tsx";
import { lostSales } from "./lost-page.tsx";
import { NOTICE } from "./notice-page.tsx";
import { Table } from "./parts.tsx";
import { SUSPENSION } from "./suspension.tsx";

function bulk(action: BulkAction, of: "one" | "all"): Action {
  return {
    name: of === "one" ? action.verb : `${action.verb}-all`,
    label: action.labels[of],
    isDangerous: action.isDangerous ?? false,
    whyNot: action.whyNot,
    ask: async (ctx) => [
      of === "all" && action.count && <HowMany count={await action.count(ctx)} />,
      <p>{action.effect}</p>,
    ],
    work: (ctx, uuid, form) => async (how) => {
      if (of === "all" && action.isDangerous) refuseMore(await action.count!(ctx), form);
      const report = await action.work(ctx, of === "one" ? [uuid] : "all", how);
      const message = reportInWords(report, action.doneWord);
      return { isDone: isWhole(report), isInterrupted: wasInterrupted(report, how), message };
    },
  };
}

function HowMany({ count }: { count: number }) {
  return (
    <p>
      <strong>
        {count === 0 ? "No resource has such work now" : `${counted(count, "resource")}, as of now`}.
      </strong>
      <input type="hidden" name="count" value={count} />
    </p>
  );
}

/** Nothing is ended that the operator was not asked about. */
function refuseMore(count: number, form: URLSearchParams): void {
  const asked = Number(form.get("count"));
  if (count > asked)
    throw new KitError(
      "too_many",
      `Nothing was changed: there are ${counted(count, "resource")} by now, and you were asked about ${asked}. Open the page again.`,
    );
}

const MEANINGS: Readonly<Record<VarDifference["state"], string>> = {
  same: "same",
  differs: "differs",
  missing: "missing on the platform",
  extra: "on the platform only",
  foreign: "on the platform, never set from here",
};

const pushConfigVars: Action = {
  name: "push",
  label: "Push its config vars",
  async ask(ctx, uuid) {
    const vars = await diffConfig(ctx, uuid);
    return (
      <>
        <Table
          columns={[
            ["Name", ({ name }) => <code>{name}</code>],
            ["Compared", ({ state }) => MEANINGS[state]],
          ]}
          rows={vars}
        />
        <p>
          What is missing or differs is set as your service wants it, and what it no longer wants is removed.
          What was never set from here stays.
        </p>
      </>
    );
  },
  work: (ctx, uuid) => async () => ({
    isDone: true,
    message: changedInWords(await pushConfig(ctx, uuid)),
  }),
};

const setClientSecret: Action = {
  name: "secret",
  hasInput: true,
  label: "Set the client secret",
  ask: () => (
    <>
      <p>
        The platform is asked first whether it accepts it; if it does not, nothing is changed. Every token
        that an older secret issued is then refreshed, which is followed here.
      </p>
      <label>
        The secret that the platform's partner portal shows
        <input type="password" name="secret" required autocomplete="off" spellcheck={false} />
      </label>
    </>
  ),
  work(ctx, _uuid, form) {
    const value = typedClientSecret(form.get("secret") ?? "");
    return async (how) => {
      const report = await waitUntilFresh(ctx, await setSecret(ctx, value), how);
      return { isDone: true, message: secretInWords(report) };
    };
  },
};

const reseal: Action = {
  name: "reseal",
  label: "Re-seal everything",
  async ask(ctx) {
    const lines = [
      "Every sealed value is sealed again with ENCRYPTION_KEY, so that older keys can be dropped. It can be stopped and started again at any time.",
      ...keysInWords(await countKeyUse(ctx.db), ctx),
    ];
    return lines.map((line) => <p>{line}</p>);
  },
  work: (ctx) => async (how) => {
    const result = await resealAll(ctx, how);
    return { isDone: result.isDone, message: resealInWords(result, ctx) };
  },
};

const isOfSteps = ({ group }: BulkAction) => group === "steps";

/** The actions on one resource, at `/operator/resources/:uuid/NAME`. Each is also a command of `kit`. */
export const OF_ONE: readonly Action[] = [
  ...BULK_ACTIONS.filter((each) => !isOfSteps(each)).map((each) => bulk(each, "one")),
  pushConfigVars,
  ...SUSPENSION,
];

/** The actions on the steps of a resource that your functions have not finished. */
export const OF_ITS_STEPS = BULK_ACTIONS.filter(isOfSteps).map((each) => bulk(each, "one"));

/** The actions of your service on one resource, as `your-NAME`. */
export function yoursOfOne(ctx: Context): Action[] {
  return yourActions(ctx).map(({ name, label, effect }) => ({
    name: `your-${name}`,
    label,
    ask: () => <p>{effect}</p>,
    work: (_ctx, uuid) => async (how) => ({
      isDone: true,
      message: await runYourAction(ctx, name, uuid, how),
    }),
  }));
}

/** The actions on all resources, at `/operator/NAME`. Their `uuid` is empty. */
export const OF_ALL: readonly Action[] = [
  ...BULK_ACTIONS.map((each) => bulk(each, "all")),
  setClientSecret,
  reseal,
  lostSales,
  ...NOTICE,
];

/** The routes of each action: GET shows a page that asks for confirmation, POST takes its form and begins the action. */
export function actionRoutes(ctx: OpenContext, runner: ActionRunner): Router {
  const router = Router({ caseSensitive: true });

  function add(action: Action, path: string): void {
    router
      .route(path)
      .get(async (request, response) => {
        const { uuid, about, here } = await placeOf(ctx, request, action);
        const root = addressOf(ctx, request).base + MOUNT;
        const whyNot = (await action.whyNot?.(ctx)) ?? null;
        const content = whyNot === null ? await action.ask(ctx, uuid) : <p>{whyNot}</p>;
        const token = tokenFor(ctx, purposeOf(ctx, here, operatorOf(response)));
        const form = (
          <form class="ask" method="post" action={root + here}>
            {content}
            <input type="hidden" name="token" value={token} />
            <div class="row">
              {whyNot === null && (
                <button type="submit" class={action.isDangerous ? "danger" : undefined}>
                  {action.label}
                </button>
              )}
              <a href={root + about}>{whyNot === null ? "Leave it as it is" : "Back"}</a>
            </div>
          </form>
        );
        show(ctx, request, response, { title: `${action.label}?`, content: form });
      })
      .post(parseForm, async (request, response) => {
        const { uuid, here } = await placeOf(ctx, request, action);
        const sent = formIn(request);
        const operator = operatorOf(response);
        const form = formOf(ctx, purposeOf(ctx, here, operator), sent.get("token"));
        if (!form || !isFromOurPage(ctx, request)) throw notFromOurPage();
        const work = action.work(ctx, uuid, sent, operator);
        const about = { action: action.name, uuid: uuid || null, operator, form };
        const asked = { ...about, requestId: String(request.id) };
        const { id, isAnother } = await runner.begin(asked, work, { isAlone: action.hasInput !== true });
        goTo(ctx, request, response, `${MOUNT}/actions/${id}${isAnother ? "?already=1" : ""}`);
      })
      .all(methodNotAllowed("GET, HEAD, POST"));
  }

  for (const action of [...OF_ALL, ...FIXES, ...runsOf(ctx)])
    add(action, `${action.under ?? ""}/${action.name}`);
  for (const action of [...OF_ONE, ...OF_ITS_STEPS, ...yoursOfOne(ctx)])
    add(action, `/resources/:uuid/${action.name}`);
  return router;
}

/** `about`: the path below `/operator` of the resource that the action is about, or of the page that it belongs to. */
async function placeOf({ db }: OpenContext, { params }: Request, { name, under = "" }: Action) {
  const typed = params["uuid"];
  const uuid = typed === undefined ? "" : typedUuid(String(typed));
  if (uuid !== "") await showResource(db, uuid);
  const about = uuid === "" ? under : `/resources/${uuid}`;
  return { uuid, about, here: `${about}/${name}` };
}

type ActionRunner = ReturnType<typeof createActionRunner>;

/**
 * Runs the operators' actions, which may outlast the request that began them. An action is in the audit trail before it
 * begins, and its progress is stored there.
 */
export function createActionRunner(needs: { db: Database; scrub(text: string): string; log: Log }) {
  const { db, scrub, log } = needs;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  async function perform(id: number, request: ActionRequest, work: ActionWork): Promise<void> {
    const { action, uuid, requestId, operator } = request;
    const about = { operatorAction: action, actionId: id, uuid, requestId, account: operator.account };
    log.info(about, "An operator began an action");
    const { onProgress, end } = followAction(db, id);
    const ended = work({ signal: stopping.signal, onProgress });
    const { isDone, isInterrupted, message } = await ended.catch((error: unknown): WorkEnd => {
      if (error instanceof KitError) return { isDone: false, message: messageOf(error) };
      log.error({ ...about, error }, "An operator's action failed");
      return { isDone: false, message: "The action failed. The log has the error." };
    });
    const state = isDone ? "done" : isInterrupted ? "interrupted" : "failed";
    log.info({ ...about, state }, "An operator's action ended");
    for (;;)
      try {
        return await end({ state, message: scrub(message) });
      } catch (error) {
        if (stopping.signal.aborted || !isDatabaseUnreachable(error)) throw error;
      }
  }

  return {
    /**
     * Begins an action unless its form was sent before, and waits up to 2 s for its end. `isAlone`: nor if the same action
     * runs. Returns its id in the audit trail, or that of the other (`isAnother`).
     */
    async begin(request: ActionRequest, work: ActionWork, how = { isAlone: false }) {
      const { id, isNew, isAnother } = await beginAction(db, request, how);
      if (!isNew) return { id, isAnother };
      const run = perform(id, request, work)
        .catch((error: unknown) =>
          log.warn({ actionId: id, error }, "The outcome of an action could not be recorded"),
        )
        .finally(() => running.delete(run));
      running.add(run);
      await Promise.race([run, sleep(2_000, undefined, { ref: false })]);
      return { id, isAnother };
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
