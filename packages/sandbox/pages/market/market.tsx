import { type ErrorRequestHandler, type Request, type Response, Router } from "express";
import type { Control } from "../../control/control.ts";
import { onlyOwners, onlyOwnPages } from "../../guard.ts";
import type { Platform } from "../../platform.ts";
import { notFound, Refused } from "../../refusal.ts";
import { sendPage } from "../send-page.ts";
import { addonActions } from "./addon-actions.ts";
import { addonPage } from "./addon-page.tsx";
import { HOME, LEDGER, LIVE, MARKET, PLATFORM } from "./addresses.ts";
import { appActions } from "./app-actions.ts";
import { appPage } from "./app-page.tsx";
import { FieldRefused, type Form, readForm } from "./form.ts";
import { marketHeaders } from "./headers.ts";
import { homePage } from "./home-page.tsx";
import { MarketLayout } from "./layout.tsx";
import { ledgerPage } from "./ledger-page.tsx";
import { liveEvents } from "./live.ts";
import { createNotices } from "./notices.ts";
import type { Action, Attempt, ShowPage } from "./page.ts";
import { platformActions } from "./platform-actions.ts";
import { platformPage } from "./platform-page.tsx";
import { problemPage } from "./problem-page.tsx";
import { signOnPage } from "./sign-on-page.tsx";

const pages: Record<string, ShowPage> = {
  [HOME]: homePage,
  [`${MARKET}/apps/:id`]: appPage,
  [`${MARKET}/addons/:id`]: addonPage,
  [`${MARKET}/addons/:id/sign-on`]: signOnPage,
  [LEDGER]: ledgerPage,
  [PLATFORM]: platformPage,
};

/**
 * The marketplace: the functions of the control API for a person with a browser. Each page is rendered from the
 * current state of the world. Each form is a POST that ends in a redirect, or in the same page with the error at its
 * field.
 */
export function marketplace(platform: Platform, control: Control): Router {
  const router = Router();
  const notices = createNotices();

  function show(
    req: Request,
    res: Response,
    page: ShowPage,
    status = 200,
    attempt: Attempt | null = null,
  ): void {
    const made = page({ platform, control, query: req.query, attempt }, idOf(req));
    const notice = notices.take(req.query["told"]);
    sendPage(res, status, <MarketLayout {...made} {...{ notice, attempt }} at={req.path} />);
  }

  async function take(req: Request, res: Response, action: Action): Promise<void> {
    let form: Form = {};
    const view = { platform, control, query: req.query, attempt: null };
    try {
      form = await readForm(req);
      const { to, told } = await action.act(view, form, idOf(req));
      res.redirect(303, `${to}?told=${notices.keep(told)}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      show(req, res, action.page, error.status, {
        form: action.form.replace(":id", idOf(req)),
        values: form,
        field: blamed(action, error),
        message: error.message,
      });
    }
  }

  const answerRefusal: ErrorRequestHandler = (error: unknown, req, res, next) => {
    if (!(error instanceof Refused)) return next(error);
    show(req, res, problemPage(error.message), error.status);
  };

  // The API shares this path: only clients that prefer HTML get the page.
  router.get(HOME, (req, _res, next) =>
    next(req.accepts(["json", "html"]) === "html" ? undefined : "router"),
  );
  const owners = onlyOwners(platform.world.settings);
  router.get(HOME, marketHeaders, onlyOwnPages, owners);
  router.use(MARKET, marketHeaders, onlyOwnPages, owners);
  router.get(LIVE, liveEvents(platform));
  for (const [path, page] of Object.entries(pages)) router.get(path, (req, res) => show(req, res, page));
  for (const action of [...appActions, ...addonActions, ...platformActions]) {
    router.post(action.path, (req, res) => take(req, res, action));
    // A GET of a form's path, such as after a refusal, redirects to the page that has the form.
    router.get(action.path, (req, res) => res.redirect(303, action.at(idOf(req))));
  }
  router.use(MARKET, () => {
    throw notFound("There is no such page.");
  });
  router.use(answerRefusal);
  return router;
}

function idOf(req: Request): string {
  return String(req.params["id"] ?? "");
}

/** The field that a refusal concerns; null when it concerns none in particular. */
function blamed({ blame = {} }: Action, error: Refused): string | null {
  if (error instanceof FieldRefused) return error.field;
  return Object.entries(blame).find(([, sentence]) => sentence.test(error.message))?.[0] ?? null;
}
