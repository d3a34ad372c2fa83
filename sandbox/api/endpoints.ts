import { Router } from "express";
import type { Platform } from "../platform.ts";
import { forbidden } from "../refusal.ts";
import { addonActionEndpoints } from "./addon-actions.ts";
import { addonConfigEndpoints } from "./addon-config.ts";
import { addonEndpoints } from "./addons.ts";
import { appEndpoints } from "./apps.ts";
import { attachmentEndpoints } from "./attachments.ts";
import { authenticate } from "./caller.ts";
import { collaboratorEndpoints } from "./collaborators.ts";
import { allowNotModified } from "./conditional.ts";
import { domainEndpoints } from "./domains.ts";
import { logDrainEndpoints } from "./log-drains.ts";
import { pipelineEndpoints } from "./pipelines.ts";
import { teamEndpoints } from "./teams.ts";
import { checkVersion } from "./version.ts";

/** The Platform API for Partners: every call authenticated, counted and versioned, and nothing beyond its list. */
export function apiEndpoints(platform: Platform): Router {
  const router = Router();
  router.use(authenticate(platform), checkVersion(platform), allowNotModified);
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
  ]) {
    router.use(endpoints(platform));
  }
  router.use((req, res) => {
    // "Other endpoints can be enabled per partner" (usage rule 3); what they would answer is not shown.
    if (isEnabled(platform.world.settings.extraEndpoints, `${req.method} ${req.path}`)) res.json([]);
    else throw forbidden(`${req.method} ${req.path} is outside the add-on's access.`);
  });
  return router;
}

function isEnabled(patterns: string[], call: string): boolean {
  return patterns.some((pattern) => {
    const expression = pattern.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^/]+");
    return new RegExp(`^${expression}$`).test(call);
  });
}
