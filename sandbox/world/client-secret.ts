import { endAccessTokens } from "./tokens.ts";
import type { World } from "./world.ts";

/** The partner says what its client secret is, where the platform would have made it up. */
export function giveClientSecret(world: World, secret: string): void {
  replaceClientSecret(world, secret);
  world.lastGivenClientSecret = secret;
}

/** As if the secret that was given last had never been replaced; for a world in which no token is left. */
export function restoreClientSecret(world: World): void {
  world.settings.clientSecret = world.lastGivenClientSecret;
  world.formerClientSecrets.length = 0;
}

/**
 * The partner's client has another secret, and every access token of the add-on is dead at once ("Authentication" 9).
 * The former secret stays known for what it is.
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
