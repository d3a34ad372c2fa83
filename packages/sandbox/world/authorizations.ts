import { randomUUID } from "node:crypto";
import type { AuthorizationRecord, ConsentRecord } from "./records.ts";
import { addAuthorization, endAccessTokens } from "./tokens.ts";
import type { World } from "./world.ts";

/** An authorization given by a user, as opposed to a resource's token pair. */
export type Consented = AuthorizationRecord & { consent: ConsentRecord };

type ConsentWish = Pick<ConsentRecord, "userId" | "clientId" | "scope"> & Partial<ConsentRecord>;

/**
 * Adds an authorization that a user gave, to a client in the web flow or to themselves. No access token is issued yet.
 */
export function addConsent(world: World, wish: ConsentWish): Consented {
  const now = world.clock.now();
  const consent = {
    description: null,
    thirdParty: wish.clientId,
    grantCode: randomUUID(),
    sessionNonce: randomUUID(),
    createdAt: now,
    updatedAt: now,
    ...wish,
  };
  return addAuthorization(world, { addonId: null, consent }) as Consented;
}

/** Revokes it: its tokens are blocked at once ("States and transitions"). */
export function endAuthorization(world: World, authorization: AuthorizationRecord, because: string): void {
  authorization.endedBecause ??= because;
  endAccessTokens(world, authorization, because);
}

/** The authorizations of a user that have not ended. */
export function activeConsents(world: World, userId: string): Consented[] {
  const given = world.authorizations.of("user", userId) as Consented[];
  return given.filter(({ endedBecause }) => endedBecause === null);
}
