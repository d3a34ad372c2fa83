import { OAuthRefused } from "../refusal.ts";
import { addConsent } from "../world/authorizations.ts";
import { whyNotExchanged, whyNotTheirs } from "../world/codes.ts";
import { invalidateGrants, whyNotExchangeable } from "../world/grants.ts";
import type { AccessTokenRecord, CodeRecord, GrantRecord } from "../world/records.ts";
import { issueAccessToken, issuePair, whyDead } from "../world/tokens.ts";
import type { World } from "../world/world.ts";
import { whyNotVerified } from "./pkce.ts";

export interface CodeExchange {
  code: string;
  clientId: string;
  redirectUri: string | null;
  verifier: string | null;
}

/**
 * Exchanges a code for tokens: a grant of the partner, or a code of the web flow, each only for the client it was
 * issued to.
 */
export function exchange(world: World, wish: CodeExchange): AccessTokenRecord {
  const isPartner = wish.clientId === world.partnerClientId;
  const grant = isPartner ? world.grants.get(wish.code) : undefined;
  if (grant) return exchangeGrant(world, grant);
  const code = world.codes.get(wish.code);
  if (code) return exchangeCode(world, code, wish);
  throw new OAuthRefused("invalid_grant", "There is no such grant.");
}

function exchangeGrant(world: World, grant: GrantRecord): AccessTokenRecord {
  const replayed = replayOf(world, grant);
  if (replayed) return replayed;
  const reason = whyNotExchangeable(world, grant);
  if (reason !== null) throw new OAuthRefused("invalid_grant", reason);
  const issued = issuePair(world, grant.addonId);
  grant.state = "exchanged";
  grant.accessToken = issued.token;
  invalidateGrants(world, grant.addonId, "Another grant of this add-on was exchanged.");
  return issued;
}

/**
 * A second use is refused and has no other effect: RFC 6749 (section 4.1.2) also suggests revoking the tokens of the
 * first use, but the platform's document has no such transition.
 */
function exchangeCode(world: World, code: CodeRecord, wish: CodeExchange): AccessTokenRecord {
  const strange = whyNotTheirs(code, wish) ?? whyNotVerified(code, wish.verifier);
  if (strange !== null) throw new OAuthRefused("invalid_grant", strange);
  const replayed = replayOf(world, code);
  if (replayed) return replayed;
  const reason = whyNotExchanged(world, code);
  if (reason !== null) throw new OAuthRefused("invalid_grant", reason);
  const { userId, clientId, scope } = code;
  const issued = issueAccessToken(
    world,
    addConsent(world, { userId, clientId, scope, grantCode: code.code }),
  );
  code.accessToken = issued.token;
  return issued;
}

/**
 * The tokens that a code brought the first time, if the setting `replayTokens` allows that and both are still valid.
 */
function replayOf(world: World, code: GrantRecord | CodeRecord): AccessTokenRecord | undefined {
  const { accessToken, expiresAt } = code;
  if (!world.settings.replayTokens || accessToken === null || world.clock.now() >= expiresAt)
    return undefined;
  const issued = world.accessTokens.get(accessToken);
  const authorization = issued && world.authorizations.get(issued.authorizationId);
  const isAlive = authorization?.endedBecause === null && whyDead(world, issued!) === null;
  return isAlive ? issued : undefined;
}
