import type { RequestHandler, Router } from "express";
import { hasOperator } from "./config.ts";
import type { Customers } from "./people/customers.ts";
import type { RefusedSample } from "./logging/request-log.ts";
import { createAccessTrail, type AccessTrail } from "./operator/access-trail.ts";
import type { createOperatorPages } from "./operator-pages/operator-pages.ts";
import { createPages, type Pages } from "./pages/pages.tsx";
import { createSite } from "./pages/site.ts";
import type { OpenContext } from "./open-context.ts";
import type { SignIn } from "./people/sign-in.ts";

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
export async function createWebsite(needs: {
  services: OpenContext;
  byPassword: RequestHandler | null;
  whenReady: RequestHandler;
  refusedSample: RefusedSample;
}): Promise<Website> {
  const { services, byPassword, whenReady, refusedSample } = needs;
  const { config, log } = services;
  const pages = createPages({ siteName: config.addonId, publicUrl: config.publicUrl });
  const trail = createAccessTrail({ db: services.db, accounts: config.operatorAccounts, log });
  const signIn = await signInOf(services, pages, trail);
  const customers = await customersOf(services, pages);
  const operator = await operatorOf({ services, pages, signIn, byPassword, whenReady, trail, refusedSample });
  const waiting = { ...(signIn && { "/oauth": signIn.router }), ...customers?.routers };
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

async function signInOf(
  { peopleTokens, platformCalls, jobs, config, db, vault, log }: OpenContext,
  pages: Pages,
  trail: AccessTrail,
): Promise<SignIn | null> {
  if (!peopleTokens) return null;
  const { createSignIn } = await import("./people/sign-in.ts");
  return createSignIn({
    ...{ ...platformCalls, peopleTokens, db, vault, pages, trail, log },
    authUrl: config.platformAuthUrl,
    onStored(lifeSeconds) {
      if (lifeSeconds < 120) jobs.wake("refresh-people", lifeSeconds * 500);
    },
  });
}

async function customersOf(
  { customerPage, config, db, vault, clocks, log }: OpenContext,
  pages: Pages,
): Promise<Customers | null> {
  const { ssoSalt: salt, ssoRequireUser: mustNameUser } = config;
  if (!salt) return null;
  const { createCustomers } = await import("./people/customers.ts");
  const clocksTrouble = clocks.trouble;
  return createCustomers({ salt, mustNameUser, customerPage, clocksTrouble, db, vault, pages, log });
}

async function operatorOf(needs: Parameters<typeof createOperatorPages>[0]) {
  if (!hasOperator(needs.services.config)) return null;
  return (await import("./operator-pages/operator-pages.ts")).createOperatorPages(needs);
}
