import type { Request, Response } from "express";
import type { Operator } from "../audit.ts";
import type { Page, Pages } from "../../pages/pages.tsx";
import { buildText } from "../../version.ts";
import { operatorOf } from "./access/operator.ts";
import { liveScript } from "./assets/live-script.ts";
import { stylesheet } from "./assets/stylesheet.ts";

/** The path at which these pages are mounted. */
export const MOUNT = "/operator";

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
  const here = PLACES.findLast(({ path }) => request.path.startsWith(path))!;
  // An error page is none of these places, but perhaps below one of them.
  const isProblem = (page.status ?? 200) >= 400;
  const current = isProblem ? "true" : "page";
  const navigation = (
    <>
      <nav aria-label="The operator's pages">
        <ul>
          {PLACES.map(({ path, name }) => (
            <li>
              <a
                href={root + path}
                aria-current={path === here.path && !(isProblem && path === "") ? current : undefined}
              >
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <SignedIn operator={operator} root={root} />
    </>
  );
  const extras = {
    ...{ stylesheet: root + stylesheet.name, script: root + liveScript.name },
    ...{ navigation, footer: buildText },
  };
  return { ...page, extras };
}

/**
 * The name of the account and a sign-out button. There is none for the password, because a browser keeps that until it
 * is closed.
 */
function SignedIn({ operator: { name, account }, root }: { operator: Operator; root: string }) {
  if (account === null) return null;
  return (
    <form class="signed-in" method="post" action={`${root}/sign-out`}>
      <span>{name}</span>
      <button type="submit">Sign out</button>
    </form>
  );
}
