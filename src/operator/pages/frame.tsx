import type { Request, RequestHandler, Response } from "express";
import helmet from "helmet";
import type { Page, Pages } from "../../pages/pages.tsx";
import { policyWith } from "../../pages/site.ts";
import { buildText } from "../../version.ts";
import type { Operator } from "../audit.ts";
import { liveScript, stylesheet } from "./assets.ts";

/** The path at which these pages are mounted. */
export const MOUNT = "/operator";

/**
 * Replaces the content security policy of pages without a script: the same, but it allows our own script, and lets that
 * script request pages from us.
 */
export const policyWithScript: RequestHandler = helmet.contentSecurityPolicy(
  policyWith({ "script-src": ["'self'"], "connect-src": ["'self'"] }),
);

export function letIn(response: Response, operator: Operator): void {
  response.locals["operator"] = operator;
}

/** The operator whom the guard has let in; null if it has let in none yet. */
export function operatorOf(response: Response): Operator | null {
  return (response.locals["operator"] as Operator | undefined) ?? null;
}

const PLACES = [
  { path: "", name: "Overview" },
  { path: "/resources", name: "Resources" },
  { path: "/check-up", name: "Check-up" },
  { path: "/actions", name: "Audit trail" },
];

/**
 * Puts an operator's page into the common frame, with navigation and the sign-out button. A person whom the guard did
 * not let in gets the page without them.
 */
export function inFrame(page: Page, request: Request, response: Response, { addressOf }: Pages): Page {
  const operator = operatorOf(response);
  if (!operator) return page;
  const root = addressOf(request).base + MOUNT;
  // An error page is none of the places, but perhaps below one of them.
  const isProblem = (page.status ?? 200) >= 400;
  const here = PLACES.findLast(({ path }) => request.path.startsWith(path) && !(isProblem && path === ""));
  const navigation = (
    <>
      <nav aria-label="The operator's pages">
        <ul>
          {PLACES.map(({ path, name }) => (
            <li>
              <a
                href={root + path}
                aria-current={path === here?.path ? (isProblem ? "true" : "page") : undefined}
              >
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {/* None for the password, because a browser keeps that until it is closed. */}
      {operator.account !== null && (
        <form class="signed-in" method="post" action={`${root}/sign-out`}>
          <span>{operator.name}</span>
          <button type="submit">Sign out</button>
        </form>
      )}
    </>
  );
  const extras = {
    ...{ stylesheet: root + stylesheet.name, script: root + liveScript.name },
    ...{ navigation, footer: buildText },
  };
  return { ...page, extras };
}
