import { Router } from "express";
import type { Control } from "../control/control.ts";
import { customerEndpoints } from "../customers/endpoints.ts";
import type { Platform } from "../platform.ts";
import { addonActionEndpoints } from "./addon-actions.ts";
import { addonConfigEndpoints } from "./addon-config.ts";
import { addonEndpoints } from "./addons.ts";
import { appEndpoints } from "./apps.ts";
import { attachmentEndpoints } from "./attachments.ts";
import { authenticate } from "./caller.ts";
import { collaboratorEndpoints } from "./collaborators.ts";
import { setCommonHeaders } from "./common-headers.ts";
import { allowNotModified } from "./conditional.ts";
import { domainEndpoints } from "./domains.ts";
import { logDrainEndpoints } from "./log-drains.ts";
import { otherEndpoints } from "./other-endpoints.ts";
import { pipelineEndpoints } from "./pipelines.ts";
import { checkCallScope } from "./scope.ts";
import { teamEndpoints } from "./teams.ts";
import { userEndpoints } from "./user-endpoints.ts";
import { checkVersion } from "./version.ts";

/**
 * The Platform API for Partners. Every call is authenticated, counted against the rate limit and checked for its
 * version; endpoints outside the partner list are refused. Under the setting `customerApi`, what customers call is there too.
 */
export function apiEndpoints(platform: Platform, control: Control): Router {
  const router = Router();
  router.use(setCommonHeaders(platform));
  router.use(authenticate(platform), checkVersion(platform), checkCallScope, allowNotModified);
  router.use(customerEndpoints(platform, control));
  for (const endpoints of [
    addonEndpoints,
    attachmentEndpoints,
    addonConfigEndpoints,
    addonActionEndpoints,
    appEndpoints,
    collaboratorEndpoints,
    domainEndpoints,
    logDrainEndpoints,
    pipelineEndpoints,
    teamEndpoints,
    userEndpoints,
  ]) {
    router.use(endpoints(platform));
  }
  router.use(otherEndpoints(platform));
  return router;
}
