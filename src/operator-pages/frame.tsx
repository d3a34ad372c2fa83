import type { Request, Response } from "express";
import type { Page, Pages } from "../pages/pages.tsx";
import { operatorOf, type Operator } from "./access/operator.ts";
import { liveScript } from "./assets/live-script.ts";
import { stylesheet } from "./assets/stylesheet.ts";

/** Where these pages stand. */
export const MOUNT = "/operator";

const PLACES = [
  { path: "", name: "Overview" },
  { path: "/resources", name: "Resources" },
  { path: "/check-up", name: "Check-up" },
  { path: "/actions", name: "Audit trail" },
];

/**
 * A page of the operator's: the frame of all pages with the way to the others, and out. Who was not let in gets the page
 * without them.
 */
export function inFrame(page: Page, request: Request, response: Response, { addressOf }: Pages): Page {
  const operator = operatorOf(response);
  if (!operator) return page;
  const root = addressOf(request).base + MOUNT;
  const here = PLACES.findLast(({ path }) => request.path.startsWith(path))!;
  // What could not be shown is at none of these places, but perhaps below one.
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
  const extras = { stylesheet: root + stylesheet.name, script: root + liveScript.name, navigation };
  return { ...page, extras };
}

/** Who is signed in, and the way out. A browser keeps a password until it is closed, so there is no way out of that. */
function SignedIn({ operator: { name, account }, root }: { operator: Operator; root: string }) {
  if (account === null) return null;
  return (
    <form class="signed-in" method="post" action={`${root}/sign-out`}>
      <span>{name}</span>
      <button type="submit">Sign out</button>
    </form>
  );
}
