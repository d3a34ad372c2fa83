import { randomUUID } from "node:crypto";
import type { AuthorizationRecord, ConsentRecord } from "./records.ts";
import { addAuthorization, endAccessTokens } from "./tokens.ts";
import type { World } from "./world.ts";

type ConsentWish = Pick<ConsentRecord, "userId" | "clientId" | "scope"> & Partial<ConsentRecord>;

/** What a user gave: to a client in the web flow, or to themselves; its tokens are still to be issued. */
export function addConsent(world: World, wish: ConsentWish): AuthorizationRecord {
  const now = world.clock.now();
  return addAuthorization(world, {
    addonId: null,
    consent: {
      description: null,
      isThirdParty: wish.clientId !== null,
      grantCode: randomUUID(),
      sessionNonce: randomUUID(),
      createdAt: now,
      updatedAt: now,
      ...wish,
    },
  });
}

/** Revokes it: its tokens are blocked at once ("States and transitions"). */
export function endAuthorization(world: World, authorization: AuthorizationRecord, because: string): void {
  authorization.endedBecause ??= because;
  endAccessTokens(world, authorization, because);
}

/** The authorizations of a user that are in force. */
export function activeAuthorizations(world: World, userId: string): AuthorizationRecord[] {
  return world.authorizations.of("user", userId).filter(({ endedBecause }) => endedBecause === null);
}
