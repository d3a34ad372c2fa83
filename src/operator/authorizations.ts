import type { Config, SettingName } from "../config.ts";
import { KitError } from "../errors.ts";
import { PlatformRefused, TransportError, UnreadableAnswer } from "../platform/errors.ts";
import type { PlatformCalls } from "../platform/ask-once.ts";
import * as platform from "../platform/authorizations.ts";
import type { Authorization, AuthorizationRequest } from "../platform/authorizations.ts";
import { withHttp } from "../platform/http.ts";
import { InvalidPath } from "../platform/path.ts";
import type { Secret } from "../secret.ts";
import { UsedWrongly } from "./errors.ts";

/** These commands use a person's own token, so they need neither the database nor a secret of the service. */
export const AUTHORIZATION_SETTINGS = [
  "platformApiUrl",
  "platformMediaType",
] as const satisfies readonly SettingName[];
type Settings = Pick<Config, (typeof AUTHORIZATION_SETTINGS)[number]>;

/**
 * Creates a token that does not expire, for the user to whom `userToken` belongs. Throws {@link UsedWrongly} and whatever
 * a call to the platform may throw.
 */
export function createAuthorization(
  settings: Settings,
  request: AuthorizationRequest,
  userToken: Secret,
): Promise<Authorization> {
  if (request.description.trim() === "") throw new UsedWrongly("Describe what the authorization is for.");
  if (request.scope.length === 0)
    throw new UsedWrongly("Say with --scope what it may do: without a scope it could do everything.");
  return asking(settings, userToken, (calls) => platform.createAuthorization(calls, request, userToken));
}

/** Revokes an authorization: its tokens are blocked at once. Throws what {@link createAuthorization} throws. */
export function revokeAuthorization(
  settings: Settings,
  id: string,
  userToken: Secret,
): Promise<Authorization> {
  return asking(settings, userToken, (calls) => platform.revokeAuthorization(calls, id, userToken));
}

async function asking(
  { platformApiUrl: apiUrl, platformMediaType: mediaType }: Settings,
  userToken: Secret,
  ask: (calls: PlatformCalls) => Promise<Authorization>,
): Promise<Authorization> {
  if (!/^[\x21-\x7e]+$/.test(userToken.reveal()))
    throw new UsedWrongly("Standard input does not hold a token: it has white space or odd characters.");
  try {
    return await withHttp((http) => ask({ http, apiUrl, mediaType }));
  } catch (error) {
    throw inWords(error);
  }
}

function inWords(error: unknown): unknown {
  if (error instanceof InvalidPath) return new UsedWrongly("That is not the id of an authorization.");
  if (error instanceof UnreadableAnswer || (error instanceof TransportError && error.mayHaveArrived))
    return new KitError(
      "authorization_unknown",
      `${error.message}. It may have been done all the same: look at your authorizations on the platform before you try again.`,
      { cause: error },
    );
  const because = error instanceof PlatformRefused ? REFUSALS[error.status] : undefined;
  if (!because) return error;
  const [id, message] = because;
  return new KitError(id, `${message} (${(error as Error).message})`, { cause: error });
}

const REFUSALS: Readonly<Record<number, [id: string, message: string]>> = {
  401: [
    "user_token_rejected",
    "The platform does not accept this token. It may have expired: get a new one from the platform's own command-line tool.",
  ],
  403: [
    "user_token_forbidden",
    "The platform does not let this token do that. Use a token whose scope is global, of an account that may do it.",
  ],
  404: [
    "unknown_authorization",
    "The platform knows no such authorization of this user. Check the id, and that the token is of the same user.",
  ],
  422: [
    "authorization_refused",
    "The platform does not make such an authorization. Correct the description or the scopes as it says.",
  ],
};
