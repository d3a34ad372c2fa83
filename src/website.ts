import type { RequestHandler, Router } from "express";
import { hasOperator } from "./config.ts";
import { site } from "./pages/site.ts";
import type { OpenContext } from "./context.ts";

/** Everything that browsers see of the web process. */
interface Website {
  /** The routes of all pages for people; null if the settings enable none. */
  router: Router | null;
  /** Stops what operators started on their pages; requests that were sent are finished and their results stored. */
  stop(): Promise<void>;
}

/**
 * Makes the pages for people that the settings enable. The code of the others is not loaded: that of the operator's and
 * the customers' pages takes a quarter of a start, and 12 MB. `byPassword` lets only requests with the operator's
 * password pass; null if none is set. `whenReady` holds requests back until the service is ready; the operator's pages
 * wait where they must: the page that says why the service is not ready opens before it is.
 */
export async function createWebsite(
  ctx: OpenContext,
  { byPassword, whenReady }: { byPassword: RequestHandler | null; whenReady: RequestHandler },
): Promise<Website> {
  const { config } = ctx;
  const routers: Record<string, RequestHandler[]> = {};
  if (ctx.credentials.people) {
    const { signInRoutes } = await import("./people/sign-in.tsx");
    routers["/oauth"] = [whenReady, signInRoutes(ctx)];
  }
  if (config.ssoSalt) {
    const { customerRoutes, signOnRoutes } = await import("./people/customers.tsx");
    routers["/sso"] = [whenReady, signOnRoutes(ctx, config.ssoSalt)];
    routers["/customer"] = [whenReady, customerRoutes(ctx)];
  }
  const operator = hasOperator(config)
    ? (await import("./operator/pages/operator-pages.ts")).createOperatorPages(ctx, {
        byPassword,
        whenReady,
      })
    : null;
  if (operator) routers["/operator"] = [operator.router];
  return {
    router: Object.keys(routers).length > 0 ? site(ctx, routers) : null,
    stop: async () => operator?.stop(),
  };
}
