import type sodium from "libsodium-wrappers";
import type { Secret } from "../secret.ts";

/** One key: its id, which is derived from it and safe to show, and one subkey per purpose. */
export interface Key {
  id: string;
  idBytes: Uint8Array;
  sealing: Uint8Array;
  hashing: Uint8Array;
}

/** The key that seals, and all keys that may open what they sealed. */
export interface KeyRing {
  current: Key;
  byId: ReadonlyMap<string, Key>;
}

export const KEY_ID_BYTES = 8;
const MASTER_CONTEXT = "add-on partner kit: master key";
const SUBKEY_CONTEXT = "kitvault";

/** Makes the ring from `ENCRYPTION_KEY` and `DECRYPTION_KEYS`; libsodium must be ready. */
export function createKeyRing(
  na: typeof sodium,
  encryptionKey: Secret,
  decryptionKeys: readonly Secret[],
): KeyRing {
  const keys = [encryptionKey, ...decryptionKeys].map((text) => deriveKey(na, text));
  return { current: keys[0]!, byId: new Map(keys.map((key) => [key.id, key])) };
}

/** A key is any long text: a keyed hash turns it into a master key, from which a subkey for each purpose is derived. */
function deriveKey(na: typeof sodium, text: Secret): Key {
  const master = na.crypto_generichash(na.crypto_kdf_KEYBYTES, text.reveal(), MASTER_CONTEXT);
  const subkey = (purpose: number) => na.crypto_kdf_derive_from_key(32, purpose, SUBKEY_CONTEXT, master);
  const idBytes = na
    .crypto_generichash(na.crypto_generichash_BYTES_MIN, subkey(3), null)
    .slice(0, KEY_ID_BYTES);
  return { id: Buffer.from(idBytes).toString("hex"), idBytes, sealing: subkey(1), hashing: subkey(2) };
}

/** SQL for the id of the key that sealed the envelope in `column`, in hex: it stands after the version byte. */
export function keyIdInSql(column: string): string {
  return `encode(substring(${column} FROM 2 FOR ${KEY_ID_BYTES}), 'hex')`;
}
