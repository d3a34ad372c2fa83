import { randomBytes } from "node:crypto";
import type { Platform } from "../platform.ts";
import { notFound } from "../refusal.ts";
import { replaceClientSecret } from "../world/client-secret.ts";
import { endAccessTokens, latestAuthorization } from "../world/tokens.ts";
import { findAddon } from "./find.ts";

/** What the partner portal and the platform's support can do to credentials ("Authentication" 9). */
export function createCredentials(platform: Platform) {
  const { world } = platform;
  return {
    /** Sets a new client secret, shown only this once; every access token of the add-on is dead at once. */
    resetClientSecret(): { secret: string } {
      replaceClientSecret(world, randomBytes(32).toString("hex"));
      platform.changed();
      return { secret: world.settings.clientSecret };
    },

    /** Revokes the current access token, or the refresh token (the access token then works until it expires). */
    revoke(id: string, token: "access" | "refresh"): void {
      const authorization = latestAuthorization(world, findAddon(world, id).id);
      if (!authorization) throw notFound("The add-on's grant was not exchanged yet: there is no token.");
      if (token === "refresh") authorization.endedBecause ??= "The refresh token was revoked.";
      else endAccessTokens(world, authorization, "The access token was revoked.");
      platform.changed();
    },
  };
}
