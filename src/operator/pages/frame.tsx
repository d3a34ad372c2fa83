import type { Response } from "express";
import type { Context } from "../../context.ts";
import { addressOf } from "../../pages/address.ts";
import type { Purpose } from "../../pages/forms.ts";
import type { Frame } from "../../pages/pages.tsx";
import { buildText } from "../../version.ts";
import type { Operator } from "../audit.ts";

export const MOUNT = "/operator";

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
  { path: "/events", name: "Events" },
  { path: "/jobs", name: "Jobs" },
  { path: "/ledgers", name: "Ledgers" },
  { path: "/check-up", name: "Check-up" },
  { path: "/actions", name: "Audit trail" },
  { path: "/runbook", name: "Runbook" },
];

function frameOf(ctx: Context, operator: Operator): Frame {
  return (request, { status = 200 }) => {
    const { base } = addressOf(ctx, request);
    const root = base + MOUNT;
    // An error page is none of the places.
    const hasJobs = (ctx.vendor.jobs ?? []).length > 0;
    const places = PLACES.filter(({ path }) => path !== "/jobs" || hasJobs);
    const here = status < 400 ? PLACES.findLast(({ path }) => request.path.startsWith(path)) : null;
    const navigation = (
      <>
        <nav aria-label="The operator's pages">
          <ul>
            {places.map((place) => (
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
    return { navigation, footer: buildText };
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
