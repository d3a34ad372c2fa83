import { endAccessTokens } from "./tokens.ts";
import type { World } from "./world.ts";

/** Sets the client secret that the partner gives, in place of a generated one. */
export function giveClientSecret(world: World, secret: string): void {
  replaceClientSecret(world, secret);
  world.lastGivenClientSecret = secret;
}

/** Restores the secret that was given last, for a world without tokens. */
export function restoreClientSecret(world: World): void {
  world.settings.clientSecret = world.lastGivenClientSecret;
  world.formerClientSecrets.length = 0;
}

/**
 * Replaces the client secret of the partner; every access token of the add-on is dead at once ("Authentication" 9). The
 * former secret is remembered, to refuse it with the reason.
 */
export function replaceClientSecret(world: World, secret: string): void {
  if (secret === world.settings.clientSecret) return;
  world.formerClientSecrets.push(world.settings.clientSecret);
  world.settings.clientSecret = secret;
  for (const authorization of world.authorizations.all()) {
    if (authorization.addonId === null) continue;
    endAccessTokens(world, authorization, "The client secret was reset; refresh with the new one.");
  }
}
