import type { RequestHandler, Response } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, Refused, unauthorized } from "../refusal.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { remainingCalls, takeCall } from "../world/rate-limit.ts";
import type { AddonRecord, AuthorizationRecord, ConsentRecord, UserRecord } from "../world/records.ts";
import { whyDead } from "../world/tokens.ts";
import type { World } from "../world/world.ts";

/** A partner's token: of one add-on resource, and of nothing else ("Authentication" 6). */
export interface PartnerCaller {
  kind: "partner";
  addon: AddonRecord;
}

/** A user's token: their own, or one they gave to a client. */
export interface UserCaller {
  kind: "user";
  user: UserRecord;
  consent: ConsentRecord;
}

export type Caller = PartnerCaller | UserCaller;

/** Whose token a call carries. */
export function callerOf(res: Response): Caller {
  return res.locals["caller"] as Caller;
}

/** The resource of a partner's token, where a call is for partners alone. */
export function partnerOf(res: Response): AddonRecord {
  const caller = callerOf(res);
  if (caller.kind === "user") throw forbidden("Only the add-on's partner can do this.");
  return caller.addon;
}

/** The user, where a call is for users alone: a resource-scoped token is no account. */
export function userOf(res: Response): UserCaller {
  const caller = callerOf(res);
  if (caller.kind === "partner") throw forbidden("This is outside the add-on's access.");
  return caller;
}

/** Finds whose token it is, and takes the call out of that token's bucket ("Authentication", "Limits"). */
export function authenticate({ world }: Platform): RequestHandler {
  return (req, res, next) => {
    const token = readToken(req.headers.authorization);
    const accessToken = world.accessTokens.get(token);
    if (!accessToken) throw unauthorized("There is no such access token.");
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

function holderOf(world: World, { addonId, consent }: AuthorizationRecord): Caller {
  if (consent) return { kind: "user", user: world.users.get(consent.userId)!, consent };
  return { kind: "partner", addon: giveUpIfOverdue(world, world.addons.get(addonId!)!) };
}

/**
 * As Bearer; or as the password of HTTP Basic without a user name, which older client libraries send and platforms of
 * this kind take for the same. A name with a password is refused ("Authentication" 3).
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
