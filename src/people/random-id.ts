import { randomBytes } from "node:crypto";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";

/** What an id is for; the same bytes have another hash for another purpose. */
export type Purpose = "session" | "customer";

/** 256 random bits, in 43 characters. */
export function randomId(): Secret {
  return new Secret(randomBytes(32).toString("base64url"));
}

/** The hash to store in place of an id. */
export function hashOf(vault: Vault, purpose: Purpose, id: Secret): Uint8Array {
  return vault.hash(labelled(purpose, id));
}

/** Its hashes with every key in the ring, for look-ups: finds ids stored before a key rotation too. */
export function hashesOf(vault: Vault, purpose: Purpose, id: Secret): Uint8Array[] {
  return vault.keyIds.map((keyId) => vault.hash(labelled(purpose, id), keyId));
}

function labelled(purpose: Purpose, id: Secret): Secret {
  return new Secret(`${purpose}:${id.reveal()}`);
}
