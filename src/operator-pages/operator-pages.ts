import type { RequestHandler, Router } from "express";
import type { Secret } from "../secret.ts";
import type { Services } from "../services.ts";
import { actionRoutes } from "./action-routes.ts";
import { createFormTokens } from "./form-tokens.ts";
import { operatorRoutes } from "./routes.ts";
import { createAudit } from "./work/audit.ts";
import { createWorkbench } from "./work/workbench.ts";

/** The operator's pages, to be mounted at `/operator`; `guard` lets the operator pass, and nobody else. */
export function createOperatorPages({
  services,
  guard,
  password,
}: {
  services: Services;
  guard: RequestHandler[];
  password: Secret;
}): {
  router: Router;
  /** Ends the actions that run; what was sent is finished and stored. */
  stop(): Promise<void>;
} {
  const { db, scrubber, log } = services;
  const audit = createAudit(db);
  const workbench = createWorkbench({ audit, scrub: scrubber.scrub, log });
  const actions = actionRoutes({ services, tokens: createFormTokens(password), workbench });
  return { router: operatorRoutes({ services, guard, audit, actions }), stop: workbench.stop };
}
