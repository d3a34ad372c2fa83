import { Router, type Request } from "express";
import { methodNotAllowed } from "../../http/requests.ts";
import type { OpenContext } from "../../context.ts";
import { addressOf, goTo, isFromOurPage } from "../../pages/address.ts";
import { formIn, formOf, parseForm, tokenFor } from "../../pages/forms.ts";
import { show } from "../../pages/pages.tsx";
import { notFromOurPage } from "../../pages/problem.tsx";
import { typedUuid } from "../errors.ts";
import { showResource } from "../resources.ts";
import type { ActionRunner } from "./action-runner.ts";
import { OF_ALL, OF_ITS_STEPS, OF_ONE, yoursOfOne, type Action } from "./actions.tsx";
import { MOUNT, operatorOf, purposeOf } from "./frame.tsx";

/** The routes of the actions: for each, a page that asks for confirmation, and the form that it sends. */
export function actionRoutes(ctx: OpenContext, runner: ActionRunner): Router {
  const router = Router({ caseSensitive: true });

  function add(action: Action, path: string): void {
    router
      .route(path)
      .get(async (request, response) => {
        const { uuid, about, here } = await placeOf(ctx, request, action);
        const root = addressOf(ctx, request).base + MOUNT;
        const { title, content, button } = await action.ask(ctx, uuid);
        const page = {
          title,
          content: (
            <form class="ask" method="post" action={root + here}>
              {content}
              <input
                type="hidden"
                name="token"
                value={tokenFor(ctx, purposeOf(ctx, here, operatorOf(response)))}
              />
              <div class="row">
                {button !== null && <button type="submit">{button}</button>}
                <a href={root + about}>{button === null ? "Back" : "Leave it as it is"}</a>
              </div>
            </form>
          ),
        };
        show(ctx, request, response, page);
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

/**
 * `uuid` is empty if the action is about all resources; `about` is the path below `/operator` of what it is about, and
 * `here` its own.
 */
async function placeOf({ db }: OpenContext, { params }: Request, { name }: Action) {
  const typed = params["uuid"];
  const uuid = typed === undefined ? "" : typedUuid(String(typed));
  if (uuid !== "") await showResource(db, uuid);
  const about = uuid === "" ? "" : `/resources/${uuid}`;
  return { uuid, about, here: `${about}/${name}` };
}
