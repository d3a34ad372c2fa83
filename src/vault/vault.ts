import sodium from "libsodium-wrappers";
import { Secret } from "../secret.ts";
import { KeyMissing, SealBroken } from "./errors.ts";
import { createKeyRing, KEY_ID_BYTES, type Key } from "./key-ring.ts";
import { createNoncePool } from "./nonces.ts";

/** What a sealed value is bound to: where it is stored. It opens with the same context only. */
export interface SealContext {
  table: string;
  column: string;
  /** The uuid of the row, or another text that identifies it (the version of a client secret). */
  uuid: string;
}

/**
 * Seals and opens secrets with XChaCha20-Poly1305 and a random nonce for each; a sealed value is bound to
 * its {@link SealContext}.
 */
export interface Vault {
  /** The id of the key that seals. Ids are derived from keys and may be shown. */
  keyId: string;
  /** The ids of all keys that may open. */
  keyIds: string[];
  seal(context: SealContext, value: Secret | string): Uint8Array<ArrayBuffer>;
  /** Throws {@link SealBroken} or {@link KeyMissing}. Only the key that the envelope names is tried. */
  open(context: SealContext, sealed: Uint8Array): Secret;
  /** A keyed hash, to compare secrets without storing them. `keyId` names an older key; throws {@link KeyMissing}. */
  hash(value: Secret, keyId?: string): Uint8Array<ArrayBuffer>;
}

// The envelope: format version, key id, nonce, ciphertext with its tag.
const VERSION = 1;
const NONCE_BYTES = 24;
const HEADER_BYTES = 1 + KEY_ID_BYTES;
const TAG_BYTES = 16;

/**
 * Makes a vault from `ENCRYPTION_KEY` and `DECRYPTION_KEYS`. Asynchronous because libsodium must be ready before any of
 * the vault's functions is called.
 */
export async function createVault(keys: {
  encryptionKey: Secret;
  decryptionKeys?: readonly Secret[];
}): Promise<Vault> {
  await sodium.ready;
  const ring = createKeyRing(sodium, keys.encryptionKey, keys.decryptionKeys ?? []);
  const nextNonce = createNoncePool(NONCE_BYTES);

  return {
    keyId: ring.current.id,
    keyIds: [...ring.byId.keys()],

    seal(context, value) {
      const nonce = nextNonce();
      const clear = Buffer.from(value instanceof Secret ? value.reveal() : value, "utf8");
      const sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        clear,
        additionalData(ring.current, context),
        null,
        nonce,
        ring.current.sealing,
      );
      const envelope = new Uint8Array(HEADER_BYTES + NONCE_BYTES + sealed.length);
      envelope[0] = VERSION;
      envelope.set(ring.current.idBytes, 1);
      envelope.set(nonce, HEADER_BYTES);
      envelope.set(sealed, HEADER_BYTES + NONCE_BYTES);
      return envelope;
    },

    open(context, sealed) {
      const keyId = keyIdOf(sealed);
      if (keyId === null || sealed.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES)
        throw new SealBroken(nameOf(context));
      const key = ring.byId.get(keyId);
      if (!key) throw new KeyMissing(keyId, nameOf(context));
      try {
        const clear = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
          null,
          sealed.subarray(HEADER_BYTES + NONCE_BYTES),
          additionalData(key, context),
          sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES),
          key.sealing,
        );
        return new Secret(Buffer.from(clear).toString("utf8"));
      } catch {
        // libsodium's error says nothing more, and a cause could carry what it was given.
        throw new SealBroken(nameOf(context));
      }
    },

    hash(value, keyId = ring.current.id) {
      const key = ring.byId.get(keyId);
      if (!key) throw new KeyMissing(keyId, "a keyed hash");
      return new Uint8Array(sodium.crypto_generichash(32, value.reveal(), key.hashing));
    },
  };
}

/** The id of the key that sealed an envelope, or null if it is not one of ours. */
export function keyIdOf(sealed: Uint8Array): string | null {
  if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) return null;
  return Buffer.from(sealed.subarray(1, HEADER_BYTES)).toString("hex");
}

/** Format version, key id, and table, column and uuid each after its length, so that no two contexts read alike. */
function additionalData(key: Key, { table, column, uuid }: SealContext): Uint8Array {
  const text = [table, column, uuid].map((part) => `${Buffer.byteLength(part)}:${part}`).join("");
  return Buffer.from(`${VERSION}:${key.id}${text}`, "utf8");
}

function nameOf({ table, column, uuid }: SealContext): string {
  return `${table}.${column} of ${uuid}`;
}
