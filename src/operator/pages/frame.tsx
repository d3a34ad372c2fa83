import type { RequestHandler, Response } from "express";
import helmet from "helmet";
import type { Context } from "../../context.ts";
import { addressOf } from "../../pages/address.ts";
import type { Purpose } from "../../pages/forms.ts";
import { policyWith, type Frame } from "../../pages/pages.tsx";
import { asset } from "../../pages/style.ts";
import { buildText } from "../../version.ts";
import type { Operator } from "../audit.ts";

export const MOUNT = "/operator";

/** In place of the policy of pages without a script: allows our own, and lets it request pages from us. */
export const policyWithScript: RequestHandler = helmet.contentSecurityPolicy(
  policyWith({ "script-src": ["'self'"], "connect-src": ["'self'"] }),
);

/** To be called for whom the guard lets in: from now on the pages of this answer have the operator's frame. */
export function letIn(ctx: Context, response: Response, operator: Operator): void {
  response.locals["operator"] = operator;
  response.locals["frame"] = frameOf(ctx, operator);
}

export function operatorOf(response: Response): Operator {
  return response.locals["operator"] as Operator;
}

/** What a form at `path` is for: one issued to the password's holder ends when the password changes. */
export function purposeOf({ config }: Pick<Context, "config">, path: string, { account }: Operator): Purpose {
  return { of: "operator", path, holder: account ?? `password ${config.operatorPassword?.reveal()}` };
}

const PLACES = [
  { path: "", name: "Overview" },
  { path: "/resources", name: "Resources" },
  { path: "/check-up", name: "Check-up" },
  { path: "/actions", name: "Audit trail" },
];

function frameOf(ctx: Context, operator: Operator): Frame {
  return (request, { status = 200 }) => {
    const { base } = addressOf(ctx, request);
    const root = base + MOUNT;
    // An error page is none of the places.
    const here = status < 400 ? PLACES.findLast(({ path }) => request.path.startsWith(path)) : null;
    const navigation = (
      <>
        <nav aria-label="The operator's pages">
          <ul>
            {PLACES.map((place) => (
              <li>
                <a href={root + place.path} aria-current={place === here ? "page" : undefined}>
                  {place.name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {/* None for the password, because a browser keeps that until it is closed. */}
        {operator.account !== null && <SignOut base={base} name={operator.name} />}
      </>
    );
    return { script: root + liveScript.name, navigation, footer: buildText };
  };
}

/** They stay signed in at the platform. */
export function SignOut({ base, name }: { base: string; name?: string }) {
  return (
    <form class={name && "signed-in"} method="post" action={`${base}/oauth/logout?return_to=${MOUNT}`}>
      {name && <span>{name}</span>}
      <button type="submit">Sign out</button>
    </form>
  );
}

/** The header that tells a request of this script from one that opens the page. */
export const LOOKS_AGAIN = "x-looks-again";

/**
 * Requests the page again at an interval and replaces the parts that have `data-live` (milliseconds). A part in use is
 * left alone: it has the keyboard focus or a text selection. A page in the background requests
 * nothing. On a 401 or 403 the page reloads, so the operator sees that access has ended.
 */
const SCRIPT = `"use strict";
(() => {
  const parts = () => [...document.querySelectorAll("[data-live]")];
  const isMarked = (part) => !getSelection().isCollapsed && getSelection().containsNode(part, true);
  const isInUse = (part) => part.contains(document.activeElement) || isMarked(part);

  async function look() {
    if (!document.hidden) {
      const answer = await fetch(location.href, { headers: { accept: "text/html", "${LOOKS_AGAIN}": "1" } });
      if (answer.status === 401 || answer.status === 403) return location.reload();
      const fresh = new DOMParser().parseFromString(answer.ok ? await answer.text() : "", "text/html");
      for (const part of parts()) {
        const next = fresh.getElementById(part.id);
        if (next && !isInUse(part) && next.outerHTML !== part.outerHTML) part.replaceWith(next);
      }
    }
  }

  function again() {
    const [part] = parts();
    if (part) setTimeout(() => look().catch(() => undefined).then(again), Number(part.dataset.live));
  }
  again();
})();
`;

export const liveScript = asset("private", "live.js", "text/javascript", SCRIPT);
