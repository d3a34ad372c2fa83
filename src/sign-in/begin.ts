import type { Request, Response } from "express";
import type { Attempt, Attempts } from "./attempts.ts";
import type { IdCookie } from "./cookies.ts";
import { leadingTo, problem } from "./problems.ts";
import { randomId } from "./random-id.ts";
import { scopesToAsk } from "./scopes.ts";

/**
 * Sends a browser to the platform to sign in (platform document, "Endpoints: Authorization service"). A browser that
 * begins again keeps the id it has, so that both tabs can be completed; of two that begin in the very same moment, before
 * it has one, only the one whose answer comes last.
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

/** Percent-encoded: a `+` for a blank is a habit of forms, which not every reader of an address shares. */
function encoded(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}
