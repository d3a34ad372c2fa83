import { type ErrorRequestHandler, type Request, type Response, Router } from "express";
import type { Platform } from "../platform.ts";
import { OAuthRefused, TooLarge, unauthorized } from "../refusal.ts";
import { bodyOf } from "../wire/recorder.ts";
import { remainingCalls } from "../world/rate-limit.ts";
import type { AccessTokenRecord } from "../world/records.ts";
import { pairShape, refreshedShape, refreshPair } from "../world/tokens.ts";
import type { World } from "../world/world.ts";
import { authenticateClient } from "./client.ts";
import { exchange } from "./exchange.ts";
import { readForm, required } from "./form.ts";

/** `POST /oauth/token`: code exchange and refresh ("Authorization service", "States and transitions"). */
export function tokenEndpoint({ world }: Platform): Router {
  const router = Router();
  router.post("/oauth/token", (req, res) => {
    try {
      answerForm(world, req, res);
    } catch (error) {
      throw isPlain(world, error) ? unauthorized(error.message) : error;
    }
  });
  router.all("/oauth/token", (req, res) => {
    res.set("Allow", "POST");
    throw new OAuthRefused("invalid_request", `The token endpoint takes POST, not ${req.method}.`, 405);
  });
  return router;
}

function answerForm(world: World, req: Request, res: Response): void {
  const form = readForm(req, bodyOf(res));
  const clientId = authenticateClient(world, form, req.headers.authorization);
  const grantType = required(form, "grant_type");
  if (grantType === "authorization_code") {
    const wish = {
      ...{ code: required(form, "code"), clientId },
      ...{ redirectUri: form.get("redirect_uri"), verifier: form.get("code_verifier") },
    };
    const issued = exchange(world, wish);
    answerPair(world, res.status(200), issued, pairShape(world, issued));
  } else if (grantType === "refresh_token") {
    const issued = refresh(world, required(form, "refresh_token"), clientId);
    answerPair(world, res.status(world.settings.refreshStatus), issued, refreshedShape(world, issued));
  } else {
    throw new OAuthRefused(
      "unsupported_grant_type",
      "grant_type must be authorization_code or refresh_token.",
    );
  }
}

/** Whether the setting `plain401` takes the words of RFC 6749 from this refusal. */
function isPlain({ settings: { plain401 } }: World, error: unknown): error is OAuthRefused {
  if (!(error instanceof OAuthRefused) || plain401 === "never") return false;
  return error.error === "invalid_grant" || (error.error === "invalid_client" && plain401 === "always");
}

/** Turns errors that occur before the endpoint runs into the form of RFC 6749 too. */
export const inTokenWords: ErrorRequestHandler = (error: unknown, _req, _res, next) => {
  const { message, status } = error as Error & { status?: number };
  next(error instanceof TooLarge ? new OAuthRefused("invalid_request", message, status) : error);
};

function refresh(world: World, token: string, clientId: string): AccessTokenRecord {
  const known = world.refreshTokens.get(token);
  const authorization = known && world.authorizations.get(known.authorizationId);
  if (!authorization) throw new OAuthRefused("invalid_grant", "There is no such refresh token.");
  const { consent } = authorization;
  if ((consent ? consent.clientId : world.partnerClientId) !== clientId) {
    throw new OAuthRefused("invalid_grant", "The refresh token was issued to another client.");
  }
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
