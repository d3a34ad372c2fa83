import { Router } from "express";
import type { Platform } from "../platform.ts";
import { accountEndpoints } from "./account.ts";
import { authorizationEndpoints } from "./authorizations.ts";
import { callerOf } from "./caller.ts";
import { clientEndpoints } from "./clients.ts";
import { configVarEndpoints } from "./config-vars.ts";

/** Endpoints for users' tokens only; for a partner's token they are outside its access. */
export function userEndpoints(platform: Platform): Router {
  const router = Router();
  router.use((_req, res, next) => next(callerOf(res).kind === "user" ? undefined : "router"));
  router.use(accountEndpoints(platform), authorizationEndpoints(platform));
  router.use(clientEndpoints(platform), configVarEndpoints(platform));
  return router;
}
