import type { Request, Response } from "express";
import type { Attempt, Attempts } from "./attempts.ts";
import { scopesToAsk } from "./scopes.ts";

/**
 * Sends a browser to the platform to sign in (platform document, "Endpoints: Authorization service"), with a code
 * challenge (RFC 7636), which a platform that does not know it ignores.
 */
export function createBegin({
  attempts,
  authUrl,
  clientId,
}: {
  attempts: Attempts;
  authUrl: string;
  clientId: string;
}) {
  return (request: Request, response: Response, { scopes, returnTo }: Attempt): void => {
    const asked = scopesToAsk(scopes);
    const { state, challenge } = attempts.begin(request, response, { scopes: asked, returnTo });
    const query = {
      ...{ client_id: clientId, response_type: "code", scope: asked.join(" "), state },
      ...{ code_challenge: challenge, code_challenge_method: "S256" },
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
