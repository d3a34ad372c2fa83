import { randomBytes, randomUUID } from "node:crypto";
import { invalid } from "../refusal.ts";
import { endAuthorization } from "./authorizations.ts";
import type { ClientRecord } from "./records.ts";
import { endAccessTokens } from "./tokens.ts";
import type { World } from "./world.ts";

const LONGEST_NAME = 100;

export interface ClientWish {
  name: string;
  redirectUri: string;
  /** The partner's own client, which a reset of the sandbox keeps. */
  isPartners?: boolean;
}

/** Registers an OAuth client; the caller shows its secret, which is in the record ("OAuth client"). */
export function registerClient(world: World, wish: ClientWish, ownerId: string): ClientRecord {
  const now = world.clock.now();
  return addClient(world, {
    id: randomUUID(),
    ...checkClientWish(wish),
    secret: newSecret(),
    ownerId,
    createdAt: now,
    updatedAt: now,
  });
}

/** Adds a client with all its data, its secret included. */
export function addClient(world: World, client: ClientRecord): ClientRecord {
  world.clientSecrets.add({ secret: client.secret, clientId: client.id });
  return world.clients.add(client);
}

/**
 * Replaces the secret. Every access token of the client is dead at once; its refresh tokens stay valid
 * ("Authentication" 9).
 */
export function rotateSecret(world: World, client: ClientRecord): ClientRecord {
  client.secret = newSecret();
  client.updatedAt = world.clock.now();
  world.clientSecrets.add({ secret: client.secret, clientId: client.id });
  for (const authorization of world.authorizations.of("client", client.id)) {
    endAccessTokens(world, authorization, "The client secret was reset; refresh with the new one.");
  }
  return client;
}

/** Deletes a client and ends all authorizations it was given. */
export function removeClient(world: World, client: ClientRecord): void {
  for (const authorization of world.authorizations.of("client", client.id)) {
    endAuthorization(world, authorization, "The client was deleted.");
  }
  world.clients.remove(client);
}

/** Checks a client's name and redirect URI, if they are given; ignores other members. */
export function checkClientWish<Wish extends Partial<ClientWish>>(wish: Wish): Wish {
  const { name, redirectUri } = wish;
  if (name !== undefined && (name.trim() === "" || name.length > LONGEST_NAME)) {
    throw invalid(`name must have 1 to ${LONGEST_NAME} characters.`);
  }
  if (redirectUri !== undefined && !isRedirectUri(redirectUri)) {
    throw invalid("redirect_uri must be a whole http or https URL, without a fragment.");
  }
  return wish;
}

/** RFC 6749, section 3.1.2: absolute, without a fragment. */
function isRedirectUri(text: string): boolean {
  return /^https?:\/\/[\x21-\x7e]+$/i.test(text) && URL.canParse(text) && !text.includes("#");
}

function newSecret(): string {
  return randomBytes(32).toString("hex");
}
