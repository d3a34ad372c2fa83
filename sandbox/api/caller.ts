import type { RequestHandler, Response } from "express";
import type { Platform } from "../platform.ts";
import { Refused, unauthorized } from "../refusal.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { remainingCalls, takeCall } from "../world/rate-limit.ts";
import type { AddonRecord } from "../world/records.ts";
import { whyDead } from "../world/tokens.ts";

/** The add-on resource whose token a call carries ("Authentication" 6). */
export function callerOf(res: Response): AddonRecord {
  return res.locals["caller"] as AddonRecord;
}

/** Finds whose token it is, and takes the call out of that token's bucket ("Authentication", "Limits"). */
export function authenticate({ world }: Platform): RequestHandler {
  return (req, res, next) => {
    const token = readBearer(req.headers.authorization);
    const accessToken = world.accessTokens.get(token);
    if (!accessToken) throw unauthorized("There is no such access token.");
    const authorization = world.authorizations.get(accessToken.authorizationId)!;
    const addon = giveUpIfOverdue(world, world.addons.get(authorization.addonId)!);
    const reason = whyDead(world, accessToken);
    if (reason !== null) throw unauthorized(reason);
    const isWithinLimit = takeCall(world, authorization);
    res.set("RateLimit-Remaining", String(remainingCalls(world, authorization)));
    if (!isWithinLimit)
      throw new Refused(429, "rate_limit", "The token's bucket is empty; it refills by 75 a minute.");
    res.locals["caller"] = addon;
    next();
  };
}

function readBearer(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthorized("The Authorization header is missing.");
  const token = /^Bearer +([\w.~+/-]+=*) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw unauthorized("The Authorization header must be Bearer and an access token.");
  return token;
}
