import { Router } from "express";
import { callerOf, isCustomer } from "../api/caller.ts";
import type { Control } from "../control/control.ts";
import type { Platform } from "../platform.ts";
import { addonEndpoints } from "./addons.ts";
import { appEndpoints } from "./apps.ts";
import { attachmentEndpoints } from "./attachments.ts";
import { couldNotFind } from "./refusals.ts";
import { resolveEndpoints } from "./resolve.ts";
import { serviceEndpoints } from "./services.ts";

/**
 * What customers call at the platform with its command line, under the setting `customerApi`: they buy, change and remove
 * add-ons as they do on the pages. Other callers and other paths go on to the endpoints after this.
 */
export function customerEndpoints(platform: Platform, control: Control): Router {
  const router = Router();
  router.use((_req, res, next) => next(isCustomer(platform.world, callerOf(res)) ? undefined : "router"));
  router.use("/apps/:app", (req, _res, next) => {
    const app = platform.world.apps.find(req.params.app);
    if (!app || app.destroyedAt !== undefined) throw couldNotFind("app");
    next();
  });
  router.use(serviceEndpoints(platform), resolveEndpoints(platform));
  router.use(addonEndpoints(platform, control), attachmentEndpoints(platform, control));
  router.use(appEndpoints(platform, control));
  return router;
}
