import { badRequest, inErrorCharacters, Refused } from "../refusal.ts";
import type { Challenge, ClientRecord } from "../world/records.ts";
import { checkScope, scopesIn } from "../world/scopes.ts";
import type { World } from "../world/world.ts";
import { readChallenge } from "./pkce.ts";

/** What a client asks of a person. */
export interface AuthorizeRequest {
  client: ClientRecord;
  redirectUri: string;
  /** Whether the request named it: only then is it compared when the code is exchanged. */
  isUriNamed: boolean;
  scope: string[];
  challenge: Challenge | null;
  /** As in the URL, still encoded, because it is returned unchanged. */
  state: string | null;
}

/** A request to show the person, or a URL to redirect the browser to at once. */
export type Judged = { asked: AuthorizeRequest } | { location: string };

/**
 * Checks the query of `GET /oauth/authorize` ("Authorization service"; RFC 6749, section 4.1). Throws when the browser
 * cannot be sent back: for an unknown client, or a redirect URI that is not registered. Unknown members are ignored.
 */
export function judgeRequest(world: World, search: string): Judged {
  const query = new URLSearchParams(search);
  const client = readClient(world, query);
  const { redirectUri } = client;
  const isUriNamed = namesRedirectUri(client, query);
  const state = rawMember(search, "state");
  const refuse = (error: string, description: string) => ({
    location: backTo({ redirectUri, state }, { error, error_description: inErrorCharacters(description) }),
  });

  const repeated = MEMBERS.find((member) => query.getAll(member).length > 1);
  if (repeated) return refuse("invalid_request", `${repeated} was sent more than once.`);
  const responseType = query.get("response_type");
  if (!responseType) return refuse("invalid_request", "response_type is missing.");
  if (responseType !== "code") return refuse("unsupported_response_type", "response_type must be code.");
  const challenge = readChallenge(world, query);
  if (typeof challenge === "string") return refuse("invalid_request", challenge);
  try {
    const scope = checkScope(scopesIn(query.get("scope") ?? ""));
    return { asked: { client, redirectUri, isUriNamed, scope, challenge, state } };
  } catch (error) {
    if (error instanceof Refused) return refuse("invalid_scope", error.message);
    throw error;
  }
}

const MEMBERS = ["response_type", "scope", "state", "code_challenge", "code_challenge_method"];

/** The client's redirect URI with the answer and the unchanged state in its query. */
export function backTo(
  { redirectUri, state }: Pick<AuthorizeRequest, "redirectUri" | "state">,
  answer: Record<string, string>,
): string {
  const members = Object.entries(answer).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  if (state !== null) members.push(`state=${state}`);
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${members.join("&")}`;
}

function readClient(world: World, query: URLSearchParams): ClientRecord {
  const [clientId, ...more] = query.getAll("client_id");
  if (!clientId) throw badRequest("client_id is missing.");
  if (more.length > 0) throw badRequest("client_id was sent more than once.");
  if (clientId === world.partnerClientId) {
    throw badRequest("This client exchanges grants of add-ons; it has no address to send people back to.");
  }
  const client = world.clients.get(clientId);
  if (!client) throw badRequest("There is no client with this client_id.");
  return client;
}

/** The redirect URI is optional, but must be exactly the registered one if it is sent; an empty one counts as not sent. */
function namesRedirectUri(client: ClientRecord, query: URLSearchParams): boolean {
  const [redirectUri, ...more] = query.getAll("redirect_uri");
  if (more.length > 0) throw badRequest("redirect_uri was sent more than once.");
  if (redirectUri && redirectUri !== client.redirectUri) {
    throw badRequest("The redirect_uri is not the one that is registered for this client.");
  }
  return Boolean(redirectUri);
}

function rawMember(search: string, name: string): string | null {
  const members = search.replace(/^\?/, "").split("&");
  const found = members.find((member) => member.startsWith(`${name}=`));
  return found === undefined ? null : found.slice(name.length + 1);
}
