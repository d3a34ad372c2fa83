import type { Config, SettingName } from "../config.ts";
import { KitError } from "../errors.ts";
import { PlatformRefused, TransportError, UnreadableAnswer } from "../platform/errors.ts";
import type { PlatformCalls } from "../platform/ask-once.ts";
import * as platform from "../platform/authorizations.ts";
import type { Authorization, AuthorizationRequest } from "../platform/authorizations.ts";
import { InvalidPath } from "../platform/path.ts";
import { withHttp } from "../platform/http.ts";
import type { Secret } from "../secret.ts";
import { UsedWrongly } from "./errors.ts";

export type { Authorization } from "../platform/authorizations.ts";

/** These commands use a person's own token, so they need neither the database nor a secret of the service. */
export const AUTHORIZATION_SETTINGS = [
  "platformApiUrl",
  "platformMediaType",
] as const satisfies readonly SettingName[];

type Settings = Pick<Config, (typeof AUTHORIZATION_SETTINGS)[number]>;

/** The platform did not create or revoke an authorization. `id` selects the advice that `kit` shows. */
export class AuthorizationFailed extends KitError {}

/**
 * Creates a token that does not expire, for the user to whom `userToken` belongs. Throws {@link UsedWrongly}, {@link
 * AuthorizationFailed} and whatever a call to the platform may throw.
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

/** The record with its tokens in clear text. Show it once, and never log it. */
export function openRecord(record: Authorization): unknown {
  return platform.revealed(record);
}

/** The scopes that the platform's document does not name. The list there is not closed, so the platform decides. */
export function unheardOf(scope: readonly string[]): string[] {
  return scope.filter((name) => !(platform.SCOPES as readonly string[]).includes(name));
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
  if (error instanceof UnreadableAnswer || (error instanceof TransportError && error.mayHaveArrived)) {
    const message = `${error.message}. It may have been done all the same`;
    return new AuthorizationFailed("authorization_unknown", message, { cause: error });
  }
  if (!(error instanceof PlatformRefused)) return error;
  const because = REFUSALS[error.status];
  return because ? new AuthorizationFailed(because.id, `${because.message} (${error.message})`) : error;
}

const REFUSALS: Readonly<Record<number, { id: string; message: string }>> = {
  401: { id: "user_token_rejected", message: "The platform does not accept this token" },
  403: { id: "user_token_forbidden", message: "The platform does not let this token do that" },
  404: { id: "unknown_authorization", message: "The platform knows no such authorization of this user" },
  422: { id: "authorization_refused", message: "The platform does not make such an authorization" },
};
