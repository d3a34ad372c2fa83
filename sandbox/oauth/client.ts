import { OAuthRefused } from "../refusal.ts";
import type { World } from "../world/world.ts";

/**
 * Checks the partner's client: its secret, in the form or as the password of HTTP Basic, and its id where one is
 * sent ("Authentication" 6; decisions, section 7).
 */
export function authenticateClient(
  world: World,
  form: URLSearchParams,
  authorization: string | undefined,
): void {
  const basic = authorization === undefined ? null : readBasic(authorization);
  if (basic) checkClient(world, basic.user, basic.password);
  const secret = form.get("client_secret");
  if (secret === null && !basic) throw new OAuthRefused("invalid_client", "client_secret is missing.");
  const clientId = form.get("client_id");
  if (secret !== null || clientId !== null) checkClient(world, clientId, secret ?? basic?.password ?? "");
}

function checkClient(world: World, clientId: string | null, secret: string): void {
  if (clientId && clientId !== world.partnerClientId && clientId !== world.settings.addonId) {
    throw new OAuthRefused("invalid_client", "There is no client with this client_id.");
  }
  if (world.formerClientSecrets.includes(secret)) {
    throw new OAuthRefused("invalid_client", "The client secret was reset; this is a former one.");
  }
  if (secret !== world.settings.clientSecret)
    throw new OAuthRefused("invalid_client", "The client secret is wrong.");
}

/** The credentials of a Basic header. */
export function readBasic(authorization: string): { user: string; password: string } {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) throw new OAuthRefused("invalid_client", "The Authorization header is not HTTP Basic.");
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
