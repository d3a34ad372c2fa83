import { Router, type Request } from "express";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import { showResource } from "../resources.ts";
import type { Pages } from "../../pages/pages.tsx";
import type { OpenContext } from "../../open-context.ts";
import { isFromOurPage } from "../../people/same-site.ts";
import type { Action } from "./actions/action.ts";
import { ACTIONS } from "./actions/all.ts";
import { operatorOf } from "./access/operator.ts";
import type { FormTokens } from "./form-tokens.ts";
import { inFrame, MOUNT } from "./frame.tsx";
import { operatorProblem, refused } from "./problems.ts";
import { formIn, parseForm, refuseUnreadable } from "./read-form.ts";
import { confirmPage } from "./work/confirm-page.tsx";
import type { ActionWork, ActionRunner } from "./work/action-runner.ts";

/** The routes of the actions: for each, a page that asks for confirmation, and the form that it sends. */
export function actionRoutes(needs: {
  services: OpenContext;
  pages: Pages;
  tokens: FormTokens;
  runner: ActionRunner;
}): Router {
  const { services, pages, tokens, runner } = needs;
  const { db } = services;
  const router = Router({ caseSensitive: true });

  /**
   * `about` is the path below `/operator` to which the action belongs; `uuid` is empty if the action is about all
   * resources.
   */
  function add(action: Action, path: string, aboutOf: (request: Request) => { uuid: string; about: string }) {
    router
      .route(path)
      .get(async (request, response) => {
        const { uuid, about } = aboutOf(request);
        if (uuid !== "") await showResource(db, uuid);
        const root = pages.addressOf(request).base + MOUNT;
        const here = `${about}/${action.name}`;
        const question = await action.ask(services, uuid);
        const form = {
          action: root + here,
          back: root + about,
          token: tokens.tokenFor(here, operatorOf(response)!),
        };
        pages.show(request, response, inFrame(confirmPage(question, form), request, response, pages));
      })
      .post(parseForm, async (request, response) => {
        const { uuid, about } = aboutOf(request);
        const sent = formIn(request.body);
        const operator = operatorOf(response)!;
        const form = tokens.formOf(`${about}/${action.name}`, operator, sent["token"]?.[0]);
        if (!form || !isFromOurPage(request, pages.addressOf)) throw operatorProblem("not_from_our_page");
        if (uuid !== "") await showResource(db, uuid);
        const work = workOf(() => action.work(services, uuid, sent), `${about}/${action.name}`);
        const actionRequest = {
          ...{ action: action.name, uuid: uuid === "" ? null : uuid, operator, form },
          requestId: String(request.id),
        };
        const id = await runner.begin(actionRequest, work);
        const { base } = pages.addressOf(request);
        response.status(303).set("Location", `${base}${MOUNT}/actions/${id}`).end();
      })
      .all(methodNotAllowed("GET, HEAD, POST"));
  }

  for (const action of ACTIONS.ofAll) add(action, `/${action.name}`, () => ({ uuid: "", about: "" }));
  for (const action of ACTIONS.ofOne) {
    add(action, `/resources/:uuid/${action.name}`, ({ params }) => {
      const uuid = typedUuid(String(params["uuid"]));
      return { uuid, about: `/resources/${uuid}` };
    });
  }
  router.use(refuseUnreadable);
  return router;
}

/** Reads the form. A fault in it is shown with a link back to the form. */
function workOf(read: () => ActionWork, here: string): ActionWork {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UsedWrongly)) throw error;
    throw refused(error.id, 400, error.message, { label: "Back to the form", path: MOUNT + here });
  }
}
