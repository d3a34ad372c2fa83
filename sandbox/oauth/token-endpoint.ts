import { Router, type Response } from "express";
import type { Platform } from "../platform.ts";
import { OAuthRefused } from "../refusal.ts";
import { bodyOf } from "../wire/recorder.ts";
import { invalidateGrants, whyNotExchangeable } from "../world/grants.ts";
import { remainingCalls } from "../world/rate-limit.ts";
import type { AccessTokenRecord } from "../world/records.ts";
import { issuePair, pairShape, refreshedShape, refreshPair } from "../world/tokens.ts";
import type { World } from "../world/world.ts";
import { authenticateClient } from "./client.ts";
import { readForm, required } from "./form.ts";

/** `POST /oauth/token`: code exchange and refresh ("Authorization service", "States and transitions"). */
export function tokenEndpoint({ world }: Platform): Router {
  const router = Router();
  router.post("/oauth/token", (req, res) => {
    const form = readForm(req, bodyOf(res));
    authenticateClient(world, form, req.headers.authorization);
    const grantType = required(form, "grant_type");
    if (grantType === "authorization_code") {
      const issued = exchange(world, required(form, "code"));
      answerPair(world, res.status(200), issued, pairShape(world, issued));
    } else if (grantType === "refresh_token") {
      const issued = refresh(world, required(form, "refresh_token"));
      answerPair(world, res.status(world.settings.refreshStatus), issued, refreshedShape(world, issued));
    } else {
      throw new OAuthRefused(
        "unsupported_grant_type",
        "grant_type must be authorization_code or refresh_token.",
      );
    }
  });
  return router;
}

function exchange(world: World, code: string): AccessTokenRecord {
  const grant = world.grants.get(code);
  if (!grant) throw new OAuthRefused("invalid_grant", "There is no such grant.");
  const replayed =
    world.settings.replayTokens && grant.accessToken && world.accessTokens.get(grant.accessToken);
  if (replayed) return replayed;
  const reason = whyNotExchangeable(world, grant);
  if (reason !== null) throw new OAuthRefused("invalid_grant", reason);
  const issued = issuePair(world, grant.addonId);
  grant.state = "exchanged";
  grant.accessToken = issued.token;
  invalidateGrants(world, grant.addonId, "Another grant of this add-on was exchanged.");
  return issued;
}

function refresh(world: World, token: string): AccessTokenRecord {
  const known = world.refreshTokens.get(token);
  const authorization = known && world.authorizations.get(known.authorizationId);
  if (!authorization) throw new OAuthRefused("invalid_grant", "There is no such refresh token.");
  if (authorization.endedBecause !== null)
    throw new OAuthRefused("invalid_grant", authorization.endedBecause);
  if (authorization.refreshToken !== token) {
    throw new OAuthRefused("invalid_grant", "The refresh token was replaced by a newer one.");
  }
  return refreshPair(world, authorization);
}

function answerPair(world: World, res: Response, issued: AccessTokenRecord, body: object): void {
  const authorization = world.authorizations.get(issued.authorizationId)!;
  res
    .set({
      "Cache-Control": "no-store",
      Pragma: "no-cache",
      "Last-Modified": new Date(issued.issuedAt).toUTCString(),
      "RateLimit-Remaining": String(remainingCalls(world, authorization)),
    })
    .json(body);
}
