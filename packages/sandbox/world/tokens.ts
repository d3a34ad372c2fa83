import { randomUUID } from "node:crypto";
import { isoTime } from "./clock.ts";
import type { AccessTokenRecord, AuthorizationRecord } from "./records.ts";
import { newAccessToken, type World } from "./world.ts";

const LONGEST_LIFE_SECONDS = 8 * 60 * 60;
/** How many access tokens are kept per authorization; dead ones are kept to refuse them with the reason. */
const REMEMBERED_TOKENS = 20;

/** Issues a new pair for a resource; any earlier pair is dead (one pair per resource). */
export function issuePair(world: World, addonId: string): AccessTokenRecord {
  endAuthorizations(world, addonId, "The pair was replaced by a newer grant's.");
  return issueAccessToken(world, addAuthorization(world, { addonId }));
}

/** Adds an authorization with its refresh token and a bucket of its own, but without an access token. */
export function addAuthorization(
  world: World,
  whose: Pick<AuthorizationRecord, "addonId" | "consent">,
): AuthorizationRecord {
  const authorization = world.authorizations.add({
    id: randomUUID(),
    ...whose,
    refreshToken: newRefreshToken(),
    accessTokens: [],
    endedBecause: null,
    bucket: { level: world.settings.rateLimit, size: world.settings.rateLimit, at: world.clock.now() },
  });
  world.refreshTokens.add({ token: authorization.refreshToken, authorizationId: authorization.id });
  return authorization;
}

/** Refreshes: issues a new access token; the old one stops working at once. */
export function refreshPair(world: World, authorization: AuthorizationRecord): AccessTokenRecord {
  endAccessTokens(world, authorization, "The access token was replaced by a refresh.");
  if (world.settings.refreshToken === "new") renewRefreshToken(world, authorization);
  return issueAccessToken(world, authorization);
}

/** Replaces both tokens. */
export function regenerateTokens(world: World, authorization: AuthorizationRecord): AccessTokenRecord {
  endAccessTokens(world, authorization, "The tokens were regenerated.");
  renewRefreshToken(world, authorization);
  return issueAccessToken(world, authorization);
}

/** Replaces the refresh token. The former one is kept, to refuse it with the reason. */
function renewRefreshToken(world: World, authorization: AuthorizationRecord): void {
  authorization.refreshToken = newRefreshToken();
  world.refreshTokens.add({ token: authorization.refreshToken, authorizationId: authorization.id });
}

/**
 * A partner gets exactly four members; a client of the web flow also `user_id` and `session_nonce` ("Token response").
 */
export function pairShape(world: World, issued: AccessTokenRecord) {
  const { refreshToken, consent } = world.authorizations.get(issued.authorizationId)!;
  return {
    access_token: issued.token,
    refresh_token: refreshToken,
    expires_in: consent?.lifeSeconds === undefined ? world.settings.expiresIn : consent.lifeSeconds,
    token_type: "Bearer",
    ...(consent && { user_id: consent.userId, session_nonce: consent.sessionNonce }),
  };
}

/** The same after a refresh; a setting may leave the refresh token out. */
export function refreshedShape(world: World, issued: AccessTokenRecord) {
  const { refresh_token, ...shape } = pairShape(world, issued);
  return world.settings.refreshToken === "none" ? shape : { ...shape, refresh_token };
}

/** Why an access token is refused, as a sentence; null while it is valid. */
export function whyDead(world: World, accessToken: AccessTokenRecord): string | null {
  if (accessToken.endedBecause !== null) return accessToken.endedBecause;
  if (accessToken.expiresAt !== null && world.clock.now() >= accessToken.expiresAt) {
    return `The access token expired at ${isoTime(accessToken.expiresAt)}.`;
  }
  return null;
}

export function endAccessTokens(world: World, authorization: AuthorizationRecord, because: string): void {
  for (const token of authorization.accessTokens) {
    const accessToken = world.accessTokens.get(token);
    if (accessToken) accessToken.endedBecause ??= because;
  }
}

/** Ends every token pair of a resource, refresh tokens included. */
export function endAuthorizations(world: World, addonId: string, because: string): void {
  for (const authorization of world.authorizations.of("addon", addonId)) {
    authorization.endedBecause ??= because;
    endAccessTokens(world, authorization, because);
  }
}

/** The newest token pair of a resource. */
export function latestAuthorization(world: World, addonId: string): AuthorizationRecord | undefined {
  return world.authorizations.of("addon", addonId).at(-1);
}

/** Issues another access token of an authorization. It lives 8 hours at most, unless the consent sets a lifetime. */
export function issueAccessToken(
  world: World,
  authorization: AuthorizationRecord,
  token = newAccessToken(),
): AccessTokenRecord {
  const issuedAt = world.clock.now();
  const lifeSeconds = lifeSecondsOf(world, authorization);
  const accessToken = world.accessTokens.add({
    token,
    authorizationId: authorization.id,
    issuedAt,
    expiresAt: lifeSeconds === null ? null : issuedAt + lifeSeconds * 1000,
    endedBecause: null,
  });
  authorization.accessTokens.push(accessToken.token);
  if (authorization.accessTokens.length > REMEMBERED_TOKENS) {
    const forgotten = world.accessTokens.get(authorization.accessTokens.shift()!);
    if (forgotten) world.accessTokens.remove(forgotten);
  }
  return accessToken;
}

function lifeSecondsOf({ settings }: World, { consent }: AuthorizationRecord): number | null {
  if (consent?.lifeSeconds !== undefined) return consent.lifeSeconds;
  return Math.min(settings.expiresIn, LONGEST_LIFE_SECONDS);
}

function newRefreshToken(): string {
  return randomUUID();
}
