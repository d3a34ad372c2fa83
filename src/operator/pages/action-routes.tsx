import { Router, type Request } from "express";
import { methodNotAllowed } from "../../http/requests.ts";
import type { OpenContext } from "../../context.ts";
import { addressOf, goTo, isFromOurPage } from "../../pages/address.ts";
import { formIn, formOf, parseForm, tokenFor } from "../../pages/forms.ts";
import { show, notFromOurPage } from "../../pages/pages.tsx";
import { typedUuid } from "../errors.ts";
import { showResource } from "../resources.ts";
import { OF_ALL, OF_ITS_STEPS, OF_ONE, yoursOfOne, type Action, type ActionWork } from "./actions.tsx";
import { MOUNT, operatorOf, purposeOf } from "./frame.tsx";
import { setTimeout as sleep } from "node:timers/promises";
import { KitError, messageOf } from "../../errors.ts";
import type { Log } from "../../logging/log.ts";
import type { Queryable } from "../../database/database.ts";
import { beginAction, followAction } from "../audit.ts";
import type { ActionRequest } from "../store.ts";

/** For each action, a page that asks for confirmation, and the form that it sends. */
export function actionRoutes(ctx: OpenContext, runner: ActionRunner): Router {
  const router = Router({ caseSensitive: true });

  function add(action: Action, path: string): void {
    router
      .route(path)
      .get(async (request, response) => {
        const { uuid, about, here } = await placeOf(ctx, request, action);
        const root = addressOf(ctx, request).base + MOUNT;
        const { title, content, button } = await action.ask(ctx, uuid);
        const token = tokenFor(ctx, purposeOf(ctx, here, operatorOf(response)));
        const form = (
          <form class="ask" method="post" action={root + here}>
            {content}
            <input type="hidden" name="token" value={token} />
            <div class="row">
              {button !== null && <button type="submit">{button}</button>}
              <a href={root + about}>{button === null ? "Back" : "Leave it as it is"}</a>
            </div>
          </form>
        );
        show(ctx, request, response, { title, content: form });
      })
      .post(parseForm, async (request, response) => {
        const { uuid, here } = await placeOf(ctx, request, action);
        const sent = formIn(request.body);
        const operator = operatorOf(response);
        const form = formOf(ctx, purposeOf(ctx, here, operator), sent["token"]?.[0]);
        if (!form || !isFromOurPage(ctx, request)) throw notFromOurPage();
        const work = action.work(ctx, uuid, sent);
        const about = { action: action.name, uuid: uuid || null, operator, form };
        const id = await runner.begin({ ...about, requestId: String(request.id) }, work);
        goTo(ctx, request, response, `${MOUNT}/actions/${id}`);
      })
      .all(methodNotAllowed("GET, HEAD, POST"));
  }

  for (const action of OF_ALL) add(action, `/${action.name}`);
  for (const action of [...OF_ONE, ...OF_ITS_STEPS, ...yoursOfOne(ctx)])
    add(action, `/resources/:uuid/${action.name}`);
  return router;
}

/** `about`: the path below `/operator` of the resource that the action is about. */
async function placeOf({ db }: OpenContext, { params }: Request, { name }: Action) {
  const typed = params["uuid"];
  const uuid = typed === undefined ? "" : typedUuid(String(typed));
  if (uuid !== "") await showResource(db, uuid);
  const about = uuid === "" ? "" : `/resources/${uuid}`;
  return { uuid, about, here: `${about}/${name}` };
}

type ActionRunner = ReturnType<typeof createActionRunner>;

/**
 * Runs the operators' actions, which do not end with the request that began them. Each is in the audit trail before its
 * first step, and stores its progress there.
 */
export function createActionRunner(needs: { db: Queryable; scrub(text: string): string; log: Log }) {
  const { db, scrub, log } = needs;
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  async function perform(id: number, request: ActionRequest, work: ActionWork): Promise<void> {
    const { action, uuid, requestId, operator } = request;
    const about = { operatorAction: action, actionId: id, uuid, requestId, account: operator.account };
    log.info(about, "An operator began an action");
    const { onProgress, end } = followAction(db, id);
    const { isDone, message } = await work({ signal: stopping.signal, onProgress }).catch(
      (error: unknown) => {
        if (error instanceof KitError) return { isDone: false, message: messageOf(error) };
        log.error({ ...about, error }, "An operator's action failed");
        return { isDone: false, message: "Something went wrong here. The log knows more." };
      },
    );
    const state = isDone ? "done" : "failed";
    log.info({ ...about, state }, "An operator's action ended");
    await end({ state, message: scrub(message) });
  }

  return {
    /** Begins an action, unless its form was sent before, and waits a little for its end. Answers its id in the trail. */
    async begin(request: ActionRequest, work: ActionWork): Promise<number> {
      const { id, isNew } = await beginAction(db, request);
      if (!isNew) return id;
      const run = perform(id, request, work)
        .catch((error: unknown) =>
          log.warn({ actionId: id, error }, "The outcome of an action could not be recorded"),
        )
        .finally(() => running.delete(run));
      running.add(run);
      await Promise.race([run, sleep(2_000, undefined, { ref: false })]);
      return id;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
