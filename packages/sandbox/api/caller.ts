import type { Request, RequestHandler, Response } from "express";
import { refuseOtherPages, refuseStrangers } from "../guard.ts";
import type { Platform } from "../platform.ts";
import { forbidden, Refused, unauthorized } from "../refusal.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { remainingCalls, takeCall } from "../world/rate-limit.ts";
import type { AddonRecord, AuthorizationRecord, ConsentRecord, UserRecord } from "../world/records.ts";
import { whyDead } from "../world/tokens.ts";
import { OWNER, userNamed } from "../world/users.ts";
import type { World } from "../world/world.ts";

/** A partner's token: it acts for one add-on resource only ("Authentication" 6). */
export interface PartnerCaller {
  kind: "partner";
  addon: AddonRecord;
}

/** A user's token: the user's own, or one they granted to a client. */
export interface UserCaller {
  kind: "user";
  user: UserRecord;
  consent: ConsentRecord;
}

export type Caller = PartnerCaller | UserCaller;

/** The owner of the token that the call carries. */
export function callerOf(res: Response): Caller {
  return res.locals["caller"] as Caller;
}

/** The add-on of a partner's token. Throws a 403 for a user's token, for calls that only partners may make. */
export function partnerOf(res: Response): AddonRecord {
  const caller = callerOf(res);
  if (caller.kind === "user") throw forbidden("Only the add-on's partner can do this.");
  return caller.addon;
}

/** The user of a user's token. Throws a 403 for a partner's token, which belongs to no account. */
export function userOf(res: Response): UserCaller {
  const caller = callerOf(res);
  if (caller.kind === "partner") throw forbidden("This is outside the add-on's access.");
  return caller;
}

/** Finds the owner of the token, and takes one call out of the token's bucket ("Authentication", "Limits"). */
export function authenticate({ world }: Platform): RequestHandler {
  return (req, res, next) => {
    const token = readToken(req.headers.authorization);
    const accessToken = world.accessTokens.get(token);
    if (!accessToken) {
      res.locals["caller"] = customerWith(world, token, req, res);
      return next();
    }
    const authorization = world.authorizations.get(accessToken.authorizationId)!;
    const caller = holderOf(world, authorization);
    const reason = whyDead(world, accessToken);
    if (reason !== null) throw unauthorized(reason);
    const isWithinLimit = takeCall(world, authorization);
    res.set("RateLimit-Remaining", String(remainingCalls(world, authorization)));
    if (!isWithinLimit)
      throw new Refused(429, "rate_limit", "The token's bucket is empty; it refills by 75 a minute.");
    res.locals["caller"] = caller;
    next();
  };
}

/**
 * Whether the call is one that customers may make: under the setting `customerApi`, every user is a customer. A call of the
 * legacy partner API has no caller, as it carries no token.
 */
export function isCustomer({ settings }: World, caller: Caller | undefined): caller is UserCaller {
  return settings.customerApi && caller?.kind === "user";
}

/**
 * The owner of the apps, for a token that the sandbox did not issue, if the setting `customerApi` allows that and the
 * caller may use the pages too. Throws a 401 or 403 otherwise. A token with the platform's prefix is one that was issued and
 * forgotten, such as a service's after a reset.
 */
function customerWith(world: World, token: string, req: Request, res: Response): UserCaller {
  if (
    !world.settings.customerApi ||
    token === "" ||
    token.startsWith("SVCK-") ||
    isNoAccessToken(world, token)
  )
    throw unauthorized("There is no such access token.");
  refuseOtherPages(req);
  refuseStrangers(world.settings, req, res);
  const user = userNamed(world, OWNER);
  const now = world.clock.now();
  const consent = { scope: ["global"], createdAt: now, updatedAt: now, ...NO_CLIENT };
  return { kind: "user", user, consent: { ...consent, userId: user.id } };
}

/** A secret that a service has, but that is no access token: a service that mistakes one for it is to see that. */
function isNoAccessToken({ settings, refreshTokens }: World, token: string): boolean {
  const { clientSecret, addonPassword, ssoSalt } = settings;
  return [clientSecret, addonPassword, ssoSalt].includes(token) || refreshTokens.get(token) !== undefined;
}

const NO_CLIENT = { clientId: null, thirdParty: null, description: null, grantCode: "", sessionNonce: "" };

function holderOf(world: World, { addonId, consent }: AuthorizationRecord): Caller {
  if (consent) return { kind: "user", user: world.users.get(consent.userId)!, consent };
  return { kind: "partner", addon: giveUpIfOverdue(world, world.addons.get(addonId!)!) };
}

/**
 * Reads the token as Bearer, or as the password of HTTP Basic with an empty user name, which older client libraries
 * send. A user name with a password is refused ("Authentication" 3).
 */
function readToken(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthorized("The Authorization header is missing.");
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1];
  if (encoded !== undefined) {
    const [name, password = ""] = Buffer.from(encoded, "base64").toString("utf8").split(/:(.*)/s);
    if (name === "") return password;
    throw unauthorized("Username and password are not accepted: the API takes an access token, as Bearer.");
  }
  const token = /^Bearer +([\w.~+/-]+=*) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw unauthorized("The Authorization header must be Bearer and an access token.");
  return token;
}
