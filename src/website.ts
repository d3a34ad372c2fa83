import type { RequestHandler, Router } from "express";
import { hasOperator } from "./config.ts";
import { createAccessTrail } from "./operator/access-trail.ts";
import { createPages } from "./pages/pages.tsx";
import { createSite } from "./pages/site.ts";
import type { OpenContext } from "./open-context.ts";

/** Everything that browsers see of the web process. */
export interface Website {
  /** The routes of all pages for people; null if the settings enable none. */
  router: Router | null;
  /** Stops what operators started on their pages; requests that were sent are finished and their results stored. */
  stop(): Promise<void>;
}

/**
 * Makes the pages for people that the settings enable, and connects them. The code of the others is not loaded: that of
 * the operator's and the customers' pages takes a quarter of a start, and 12 MB. `byPassword` lets only requests with the
 * operator's password pass; null if none is set. `whenReady` holds requests back until the service is ready, except
 * those to the operator's pages, which wait where they must: the page that says why the service is not ready opens
 * before it is.
 */
export async function createWebsite(
  ctx: OpenContext,
  { byPassword, whenReady }: { byPassword: RequestHandler | null; whenReady: RequestHandler },
): Promise<Website> {
  const { config, db, log, refusedSample } = ctx;
  const pages = createPages({ siteName: config.addonId, publicUrl: config.publicUrl });
  const trail = createAccessTrail({ db, accounts: config.operatorAccounts, log });
  const signIn = ctx.credentials.people
    ? (await import("./people/sign-in.ts")).createSignIn(ctx, { pages, trail })
    : null;
  const customers = config.ssoSalt
    ? (await import("./people/customers.tsx")).customerRouters({ ...ctx, pages, salt: config.ssoSalt })
    : {};
  const operator = hasOperator(config)
    ? (await import("./operator/pages/operator-pages.ts")).createOperatorPages(ctx, {
        ...{ pages, signIn, byPassword, whenReady, trail },
      })
    : null;
  const waiting = { ...(signIn && { "/oauth": signIn.router }), ...customers };
  const routers = {
    ...Object.fromEntries(Object.entries(waiting).map(([path, router]) => [path, [whenReady, router]])),
    ...(operator && { "/operator": [operator.router] }),
  };
  const frames = operator ? { "/operator": operator.frame } : {};
  const isEmpty = Object.keys(routers).length === 0;
  return {
    router: isEmpty ? null : createSite({ routers, frames, pages, refusedSample, log }),
    stop: async () => operator?.stop(),
  };
}
