import { type Request, type Response, Router } from "express";
import type { Platform } from "../platform.ts";
import { invalid, notFound } from "../refusal.ts";
import { authorizationShape } from "../shapes/authorization.ts";
import { activeConsents, addConsent, type Consented, endAuthorization } from "../world/authorizations.ts";
import { checkScope } from "../world/scopes.ts";
import { issueAccessToken, regenerateTokens } from "../world/tokens.ts";
import { answer, answerList } from "./answer.ts";
import { type UserCaller, userOf } from "./caller.ts";
import { readObject } from "./json-body.ts";

/**
 * "Authorization management": direct authorization, which exchanges a user's API token for one that does not expire,
 * and revocation. A client that holds a user's token can list, create and revoke only its own authorizations.
 */
export function authorizationEndpoints({ world }: Platform): Router {
  const router = Router();
  const shape = (authorization: Consented) => authorizationShape(world, authorization);

  router.post("/oauth/authorizations", (req, res) => {
    const { user, consent } = userOf(res);
    const wish = readWish(readObject(req, res));
    const made = addConsent(world, {
      thirdParty: wish.clientId ?? consent.thirdParty,
      userId: user.id,
      ...wish,
    });
    issueAccessToken(world, made);
    answer(res.status(201), shape(made), made.consent);
  });

  router.get("/oauth/authorizations", (req, res) => {
    answerList(req, res, ownOf(userOf(res)), shape);
  });

  router.get("/oauth/authorizations/:authorization", (req, res) => {
    const authorization = reach(req, res);
    answer(res, shape(authorization), authorization.consent);
  });

  router.delete("/oauth/authorizations/:authorization", (req, res) => {
    const authorization = reach(req, res);
    endAuthorization(world, authorization, "The authorization was revoked.");
    answer(res, shape(authorization), authorization.consent);
  });

  // This is also how a token issued before the prefix was introduced gets the prefix ("Token response").
  router.post("/oauth/authorizations/:authorization/actions/regenerate-tokens", (req, res) => {
    const authorization = reach(req, res);
    regenerateTokens(world, authorization);
    authorization.consent.updatedAt = world.clock.now();
    answer(res, shape(authorization), authorization.consent);
  });

  function ownOf({ user, consent }: UserCaller): Consented[] {
    const all = activeConsents(world, user.id);
    return consent.thirdParty === null
      ? all
      : all.filter((one) => one.consent.thirdParty === consent.thirdParty);
  }

  function reach(req: Request<{ authorization: string }>, res: Response): Consented {
    const id = req.params.authorization.toLowerCase();
    const authorization = ownOf(userOf(res)).find((one) => one.id === id);
    if (!authorization) throw notFound("There is no such authorization, or it is out of this token's reach.");
    return authorization;
  }

  function readWish(body: Record<string, unknown>) {
    const { description = null, expires_in: life = null, client = null } = body;
    const scope = body["scope"] ?? [];
    const lifeSeconds = typeof life === "string" && /^\d+$/.test(life) ? Number(life) : life;
    if (description !== null && typeof description !== "string")
      throw invalid("description must be a string.");
    if (!Array.isArray(scope) || !scope.every((name) => typeof name === "string")) {
      throw invalid("scope must be an array of scope names.");
    }
    if (lifeSeconds !== null && !(Number.isSafeInteger(lifeSeconds) && Number(lifeSeconds) > 0)) {
      throw invalid(
        "expires_in must be a whole number of seconds, or null for a token that does not expire.",
      );
    }
    return {
      description,
      scope: checkScope(scope),
      lifeSeconds: lifeSeconds as number | null,
      clientId: client === null ? null : readClientId(client),
    };
  }

  /** `client` is an id, or an object with an `id`. */
  function readClientId(client: unknown): string {
    const id: unknown = typeof client === "object" ? (client as { id?: unknown }).id : client;
    const known = typeof id === "string" ? world.clients.get(id) : undefined;
    if (!known) throw invalid("client must be the id of an OAuth client.");
    return known.id;
  }

  return router;
}
