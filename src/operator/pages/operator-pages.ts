import type { RequestHandler, Router } from "express";
import type { RefusedSample } from "../../logging/request-log.ts";
import type { AccessTrail } from "../access-trail.ts";
import { createAudit } from "../audit.ts";
import type { Pages } from "../../pages/pages.tsx";
import type { Frame } from "../../pages/site.ts";
import type { OpenContext } from "../../open-context.ts";
import type { SignIn } from "../../people/sign-in.ts";
import { createGuard } from "./access/guard.ts";
import { signOut } from "./access/sign-out.ts";
import { actionRoutes } from "./action-routes.ts";
import { createFormTokens } from "./form-tokens.ts";
import { inFrame } from "./frame.tsx";
import { operatorRoutes } from "./routes.ts";
import { createActionRunner } from "./work/action-runner.ts";

/**
 * The operator's pages, to be mounted at `/operator`. `byPassword` checks the operator's password; null if none is set.
 * `whenReady` holds back requests until a service that has just started is ready.
 */
export function createOperatorPages({
  services,
  pages,
  signIn,
  byPassword,
  whenReady,
  trail,
  refusedSample,
}: {
  services: OpenContext;
  pages: Pages;
  /** Null: people cannot sign in here. */
  signIn: SignIn | null;
  byPassword: RequestHandler | null;
  whenReady: RequestHandler;
  trail: AccessTrail;
  /** Decides which refused requests are logged. */
  refusedSample: RefusedSample;
}): {
  router: Router;
  /** For error pages that are shown in place of one of these. */
  frame: Frame;
  /** Stops the running actions; requests that were sent are finished and their results stored. */
  stop(): Promise<void>;
} {
  const { db, vault, scrubber, log, config } = services;
  const { operatorAccounts: accounts, operatorPassword: password } = config;
  const audit = createAudit(db);
  const runner = createActionRunner({ audit, scrub: scrubber.scrub, log });
  const actions = actionRoutes({ services, pages, tokens: createFormTokens({ vault, password }), runner });
  const guard = createGuard({ password: byPassword, accounts, signIn, pages, trail, refusedSample, log });
  const wayOut = signIn && accounts.length > 0 ? signOut({ signIn, pages }) : null;
  return {
    router: operatorRoutes({ services, pages, guard, whenReady, audit, actions, signOut: wayOut }),
    frame: (page, request, response) => inFrame(page, request, response, pages),
    stop: runner.stop,
  };
}
