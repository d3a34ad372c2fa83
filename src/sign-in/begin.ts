import type { Request, Response } from "express";
import type { Attempt, Attempts } from "./attempts.ts";
import type { IdCookie } from "../web-sessions/id-cookie.ts";
import { leadingTo, problem } from "./problems.ts";
import { randomId } from "../web-sessions/random-id.ts";
import { scopesToAsk } from "./scopes.ts";

/**
 * Sends a browser to the platform to sign in (platform document, "Endpoints: Authorization service"). A browser that
 * begins again keeps its id, so that the sign-ins of both tabs can be completed. If a browser without an id begins two
 * at the same moment, only the one whose answer arrives last can be completed.
 */
export function createBegin({
  attempts,
  browserCookie,
  authUrl,
  clientId,
}: {
  attempts: Attempts;
  browserCookie: IdCookie;
  authUrl: string;
  clientId: string;
}) {
  return async (request: Request, response: Response, { scopes, returnTo }: Attempt): Promise<void> => {
    const state = randomId();
    const browser = browserCookie.read(request) ?? randomId();
    const asked = scopesToAsk(scopes);
    if (!(await attempts.begin(state, browser, { scopes: asked, returnTo })))
      throw leadingTo(returnTo, problem("too_many"));
    browserCookie.set(request, response, browser);
    const query = {
      ...{ client_id: clientId, response_type: "code" },
      ...{ scope: asked.join(" "), state: state.reveal() },
    };
    response
      .status(303)
      .set("Location", `${authUrl}/oauth/authorize?${encoded(query)}`)
      .end();
  };
}

export type Begin = ReturnType<typeof createBegin>;

/** Percent-encoded: `+` for a space is a convention of forms, which not every URL parser shares. */
function encoded(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}
