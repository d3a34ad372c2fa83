import { randomBytes } from "node:crypto";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";

const BYTES = 32;
const FORM = /^[A-Za-z0-9_-]{43}$/;

/** What an id is for; the same bytes have another hash for another purpose. */
export type Purpose = "state" | "browser" | "session" | "customer";

/** 256 random bits; the database only stores their keyed hash. */
export function randomId(): Secret {
  return new Secret(randomBytes(BYTES).toString("base64url"));
}

/** An id from outside, or null if it cannot be one of ours. */
export function readId(given: unknown): Secret | null {
  return typeof given === "string" && FORM.test(given) ? new Secret(given) : null;
}

/** The hash to store. */
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
