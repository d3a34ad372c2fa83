import { OAuthRefused } from "../refusal.ts";
import type { World } from "../world/world.ts";

/**
 * Identifies the client, the partner's own or one of the web flow, by its secret in the form or as the password of HTTP
 * Basic. Its id is checked if one is sent ("Authentication" 6; assumed, section 7). Returns the client's id.
 */
export function authenticateClient(
  world: World,
  form: URLSearchParams,
  authorization: string | undefined,
): string {
  const secret = form.get("client_secret");
  const clientId = form.get("client_id");
  const byHeader = authorization === undefined ? null : checkBasic(world, readBasic(authorization));
  const byForm = secret === null ? null : checkClient(world, clientId, secret);
  const found = byForm ?? byHeader;
  if (!found) throw new OAuthRefused("invalid_client", "client_secret is missing.");
  const alsoNamed = [byHeader, clientId ? idOf(world, clientId) : null];
  if (alsoNamed.some((id) => id !== null && id !== found)) {
    throw new OAuthRefused("invalid_client", "The request names more than one client.");
  }
  return found;
}

function checkBasic(world: World, basic: Basic): string {
  try {
    return checkClient(world, basic.decoded.user, basic.decoded.password);
  } catch {
    // Some clients do not form-encode the credentials first, as RFC 6749 (section 2.3.1) requires.
    return checkClient(world, basic.user, basic.password);
  }
}

function checkClient(world: World, clientId: string | null, secret: string): string {
  const wanted = clientId ? idOf(world, clientId) : null;
  if (wanted && wanted !== world.partnerClientId && !world.clients.get(wanted)) {
    throw new OAuthRefused("invalid_client", "There is no client with this client_id.");
  }
  const found = clientOf(world, secret);
  if (!found || (wanted && wanted !== found.id)) {
    throw new OAuthRefused("invalid_client", "The client secret is wrong.");
  }
  if (found.isFormer) {
    throw new OAuthRefused("invalid_client", "The client secret was reset; this is a former one.");
  }
  return found.id;
}

/** The partner's client may also be named by the add-on's id. */
function idOf({ settings, partnerClientId }: World, clientId: string): string {
  return clientId === settings.addonId ? partnerClientId : clientId;
}

function clientOf(world: World, secret: string): { id: string; isFormer: boolean } | null {
  const { partnerClientId, formerClientSecrets, settings } = world;
  if (secret === settings.clientSecret) return { id: partnerClientId, isFormer: false };
  if (formerClientSecrets.includes(secret)) return { id: partnerClientId, isFormer: true };
  const client = world.clients.get(world.clientSecrets.get(secret)?.clientId ?? "");
  return client ? { id: client.id, isFormer: client.secret !== secret } : null;
}

interface Credentials {
  user: string;
  password: string;
}

interface Basic extends Credentials {
  /** The same credentials, form-decoded. */
  decoded: Credentials;
}

/** The credentials of a Basic header. */
export function readBasic(authorization: string): Basic {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 0) throw new OAuthRefused("invalid_client", "The Authorization header is not HTTP Basic.");
  const [user, password] = [text.slice(0, colon), text.slice(colon + 1)];
  return { user, password, decoded: { user: formDecoded(user), password: formDecoded(password) } };
}

function formDecoded(text: string): string {
  return new URLSearchParams(`_=${text.replaceAll("&", "%26")}`).get("_") ?? "";
}
