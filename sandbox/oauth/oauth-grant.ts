import { Router } from "express";
import type { Platform } from "../platform.ts";
import { conflict, forbidden, notFound, OAuthRefused, unauthorized } from "../refusal.ts";
import { acceptGrant, grantShape, grantStateOf, issueGrant } from "../world/grants.ts";
import type { GrantRecord } from "../world/records.ts";
import { readBasic } from "./client.ts";

/**
 * `GET /vendor/resources/{uuid}/oauth-grant` with the Basic credentials of the legacy partner API: the unexpired
 * grant or a new one; refused when one was exchanged; closed unless the setting `legacyGrants` opens it
 * ("Authorization management").
 */
export function oauthGrantEndpoint({ world }: Platform): Router {
  const router = Router();
  router.get("/vendor/resources/:uuid/oauth-grant", (req, res) => {
    const { addonId, addonPassword, legacyGrants } = world.settings;
    if (!isBasic(req.headers.authorization, addonId, addonPassword)) {
      res.set("WWW-Authenticate", 'Basic realm="legacy partner API"');
      throw unauthorized("This endpoint takes the add-on's id and password as HTTP Basic.");
    }
    if (!legacyGrants) throw forbidden("The oauth-grant endpoint is not opened for this add-on.");
    const addon = world.addons.get(req.params.uuid);
    if (!addon || addon.state === "deprovisioned") throw notFound("There is no such resource.");
    const grants = world.grants.of("addon", addon.id);
    if (grants.some((grant) => grant.state === "exchanged")) {
      throw conflict("A grant of this resource was already exchanged for tokens.");
    }
    const isAlive = (grant: GrantRecord) => ["issued", "exchangeable"].includes(grantStateOf(world, grant));
    const grant = grants.findLast(isAlive) ?? issueGrant(world, addon);
    // A resource that was answered with success once has nothing left to wait for.
    if (addon.providerId !== null) acceptGrant(world, grant);
    res.json({ oauth_grant: grantShape(grant) });
  });
  return router;
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
