import type { RequestHandler, Router } from "express";
import { hasOperator } from "./config.ts";
import { createCustomers, type Customers } from "./customer/customers.ts";
import type { RefusedSample } from "./logging/refused-sample.ts";
import { createOperatorPages } from "./operator-pages/operator-pages.ts";
import { createPages, type Pages } from "./pages/pages.tsx";
import { createSite } from "./pages/site.ts";
import type { Services } from "./services.ts";
import { createSignIn, type SignIn } from "./sign-in/sign-in.ts";

/** Everything that browsers see of the web process. */
export interface Website {
  /** The routes of all pages for people; null if the settings enable none. */
  router: Router | null;
  /** Stops what operators started on their pages; requests that were sent are finished and their results stored. */
  stop(): Promise<void>;
}

/**
 * Makes the pages for people that the settings enable, and connects them. `byPassword` lets only requests with the
 * operator's password pass; null if none is set. `whenReady` holds requests back until the service is ready, except
 * those to the operator's pages, which wait where they must: the page that says why the service is not ready opens
 * before it is.
 */
export function createWebsite(needs: {
  services: Services;
  byPassword: RequestHandler | null;
  whenReady: RequestHandler;
  refusedSample: RefusedSample;
}): Website {
  const { services, byPassword, whenReady, refusedSample } = needs;
  const { config, log } = services;
  const pages = createPages({ siteName: config.addonId, publicUrl: config.publicUrl });
  const signIn = signInOf(services, pages);
  const operator = hasOperator(config)
    ? createOperatorPages({ services, pages, signIn, byPassword, whenReady })
    : null;
  const waiting = { ...(signIn && { "/oauth": signIn.router }), ...customersOf(services, pages)?.routers };
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

function signInOf(
  { peopleTokens, platformCalls, jobs, config, db, vault, scrubber, log }: Services,
  pages: Pages,
): SignIn | null {
  if (!peopleTokens) return null;
  return createSignIn({
    ...{ ...platformCalls, peopleTokens, db, vault, pages, scrubber, log, authUrl: config.platformAuthUrl },
    onStored(lifeSeconds) {
      if (lifeSeconds < 120) jobs.wake("refresh-people", lifeSeconds * 500);
    },
  });
}

function customersOf(
  { customerPage, config, db, vault, scrubber, log }: Services,
  pages: Pages,
): Customers | null {
  const { ssoSalt: salt, ssoRequireUser: mustNameUser } = config;
  if (!salt) return null;
  return createCustomers({ salt, mustNameUser, customerPage, db, vault, pages, scrubber, log });
}
