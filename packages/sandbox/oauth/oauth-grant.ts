import { type RequestHandler, Router } from "express";
import { setCommonHeaders } from "../api/common-headers.ts";
import { checkVersion } from "../api/version.ts";
import type { Platform } from "../platform.ts";
import { conflict, forbidden, notFound, OAuthRefused, unauthorized } from "../refusal.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { acceptGrant, grantShape, livingGrant } from "../world/grants.ts";
import type { GrantRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { readBasic } from "./client.ts";

/**
 * `GET /vendor/resources/{uuid}/oauth-grant` with the Basic credentials of the legacy partner API: answers the
 * unexpired grant or a new one, and refuses if one was exchanged. Closed unless the setting `legacyGrants` opens it
 * ("Authorization management").
 */
export function oauthGrantEndpoint(platform: Platform): Router {
  const { world } = platform;
  const router = Router();
  const onlyPartner: RequestHandler = (req, res, next) => {
    const { addonId, addonPassword, legacyGrants } = world.settings;
    if (!isBasic(req.headers.authorization, addonId, addonPassword)) {
      res.set("WWW-Authenticate", 'Basic realm="legacy partner API"');
      throw unauthorized("This endpoint takes the add-on's id and password as HTTP Basic.");
    }
    if (!legacyGrants) throw forbidden("The oauth-grant endpoint is not opened for this add-on.");
    next();
  };

  router.use("/vendor", setCommonHeaders(platform));
  router.get("/vendor/resources/:uuid/oauth-grant", onlyPartner, checkVersion(platform), (req, res) => {
    const grant = grantFor(world, req.params["uuid"] as string);
    // For five minutes, a code is as powerful as a password.
    res.set({ "Cache-Control": "no-store", "Last-Modified": new Date(grant.issuedAt).toUTCString() });
    res.json({ oauth_grant: grantShape(grant) });
    platform.changed();
  });
  return router;
}

/** The same grant while it is valid, then a new one, valid for 5 minutes ("States and transitions"). */
function grantFor(world: World, uuid: string): GrantRecord {
  const known = world.addons.get(uuid.toLowerCase());
  const addon = known && giveUpIfOverdue(world, known);
  if (!addon || addon.state === "deprovisioned") throw notFound("There is no such resource.");
  if (world.grants.of("addon", addon.id).some(({ state }) => state === "exchanged")) {
    throw conflict("A grant of this resource was already exchanged for tokens.");
  }
  const grant = livingGrant(world, addon);
  // A resource that was once answered with success has no answer left to wait for.
  if (addon.providerId !== null) acceptGrant(world, grant);
  return grant;
}

function isBasic(authorization: string | undefined, user: string, password: string): boolean {
  try {
    const credentials = readBasic(authorization ?? "");
    return credentials.user === user && credentials.password === password;
  } catch (error) {
    if (error instanceof OAuthRefused) return false;
    throw error;
  }
}
