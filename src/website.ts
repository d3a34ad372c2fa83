import type { RequestHandler, Router } from "express";
import { hasOperator } from "./config.ts";
import type { OpenContext } from "./context.ts";
import { site } from "./pages/pages.tsx";
import { stylesheet } from "./pages/style.ts";

/**
 * The pages for people that the settings enable. The code of the others is not loaded: that of the operator's and the
 * customers' pages takes a quarter of a start, and 12 MB. `byPassword` lets only requests with the operator's password
 * pass, `whenReady` holds requests back until the service is ready, `stop` ends what operators started.
 */
export async function createWebsite(
  ctx: OpenContext,
  { byPassword, whenReady }: { byPassword: RequestHandler | null; whenReady: RequestHandler },
): Promise<{ router: Router | null; stop(): Promise<void> }> {
  const { config } = ctx;
  const routers: Record<string, RequestHandler[]> = {};
  if (ctx.credentials.people) {
    const { signInRoutes } = await import("./people/sign-in.tsx");
    routers["/oauth"] = [whenReady, signInRoutes(ctx)];
  }
  if (config.ssoSalt) {
    const { customerRoutes, signOnRoutes } = await import("./people/customers.tsx");
    const { customerFrame } = await import("./people/frame.tsx");
    const frame = customerFrame(ctx);
    routers["/sso"] = [frame, whenReady, signOnRoutes(ctx, config.ssoSalt)];
    routers["/customer"] = [frame, whenReady, customerRoutes(ctx)];
  }
  let stop = () => Promise.resolve();
  if (hasOperator(config)) {
    const { createOperatorPages } = await import("./operator/pages/operator-pages.ts");
    const operator = createOperatorPages(ctx, { byPassword, whenReady });
    routers["/operator"] = [operator.router];
    stop = operator.stop;
  }
  const sheets = [stylesheet, ctx.brand.stylesheet];
  return { router: Object.keys(routers).length > 0 ? site(ctx, routers, sheets) : null, stop };
}
