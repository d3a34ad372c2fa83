import type { RequestHandler, Response } from "express";
import type { Platform } from "../platform.ts";
import { forbidden, Refused, unauthorized } from "../refusal.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { remainingCalls, takeCall } from "../world/rate-limit.ts";
import type { AddonRecord, AuthorizationRecord, ConsentRecord, UserRecord } from "../world/records.ts";
import { whyDead } from "../world/tokens.ts";
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
