import type { RequestHandler, Router } from "express";
import type { Frame } from "../pages/site.ts";
import type { Services } from "../services.ts";
import { createGuard } from "./access/guard.ts";
import { signOut } from "./access/sign-out.ts";
import { actionRoutes } from "./action-routes.ts";
import { createFormTokens } from "./form-tokens.ts";
import { inFrame } from "./frame.tsx";
import { operatorRoutes } from "./routes.ts";
import { createAudit } from "./work/audit.ts";
import { createWorkbench } from "./work/workbench.ts";

/**
 * The operator's pages, to be mounted at `/operator`. `byPassword` lets whoever has the password pass; null: nobody has.
 * `whenReady` holds a request until the service can do work, if it has just started.
 */
export function createOperatorPages({
  services,
  byPassword,
  whenReady,
}: {
  services: Services;
  byPassword: RequestHandler | null;
  whenReady: RequestHandler;
}): {
  router: Router;
  /** For pages that are shown in the place of one of these. */
  frame: Frame;
  /** Ends the actions that run; what was sent is finished and stored. */
  stop(): Promise<void>;
} {
  const { db, vault, scrubber, log, pages, signIn, config } = services;
  const { operatorAccounts: accounts, operatorPassword: password } = config;
  const audit = createAudit(db);
  const workbench = createWorkbench({ audit, scrub: scrubber.scrub, log });
  const actions = actionRoutes({ services, tokens: createFormTokens({ vault, password }), workbench });
  const guard = createGuard({ password: byPassword, accounts, signIn, pages, log });
  const wayOut = signIn && accounts.length > 0 ? signOut({ signIn, pages }) : null;
  return {
    router: operatorRoutes({ services, guard, whenReady, audit, actions, signOut: wayOut }),
    frame: (page, request, response) => inFrame(page, request, response, pages),
    stop: workbench.stop,
  };
}
