import { randomFillSync } from "node:crypto";
import sodium from "libsodium-wrappers";
import { KitError } from "../errors.ts";
import { Secret } from "../secret.ts";

/** The place where a sealed value is stored. The value can be decrypted only with the same context. */
export interface SealContext {
  table: string;
  column: string;
  /** The uuid of the row, or another text that identifies it (the version of a client secret). */
  uuid: string;
}

/** XChaCha20-Poly1305 with a random nonce for each value, which is bound to its {@link SealContext}. */
export type Vault = Awaited<ReturnType<typeof createVault>>;

/** A key of the ring: its id, which is derived from the key and safe to show, and one subkey for each purpose. */
interface Key {
  id: string;
  idBytes: Uint8Array;
  sealing: Uint8Array;
  hashing: Uint8Array;
}

// The envelope: format version, key id, nonce, ciphertext and tag.
const VERSION = 1;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 24;
const HEADER_BYTES = 1 + KEY_ID_BYTES;
const TAG_BYTES = 16;
const MASTER_CONTEXT = "add-on partner kit: master key";
const SUBKEY_CONTEXT = "kitvault";
const NONCES_AT_ONCE = 512;

/** `encryptionKey` seals; all keys decrypt. Asynchronous, because libsodium must be ready first. */
export async function createVault(keys: { encryptionKey: Secret; decryptionKeys?: readonly Secret[] }) {
  await sodium.ready;
  const ring = [keys.encryptionKey, ...(keys.decryptionKeys ?? [])].map(deriveKey);
  const current = ring[0]!;
  const byId = new Map(ring.map((key) => [key.id, key]));
  const nextNonce = createNoncePool();

  function keyOf(keyId: string, place: string): Key {
    const key = byId.get(keyId);
    if (key) return key;
    throw new CannotDecrypt(
      "key_missing",
      `The sealed value in ${place} needs key ${keyId}, which is not among ENCRYPTION_KEY and DECRYPTION_KEYS.`,
    );
  }

  return {
    /** The id of the key that seals. Ids are derived from keys and may be shown. */
    keyId: current.id,
    /** The ids of all keys that decrypt. */
    keyIds: [...byId.keys()],

    seal(context: SealContext, value: Secret | string): Uint8Array<ArrayBuffer> {
      const nonce = nextNonce();
      const clear = Buffer.from(value instanceof Secret ? value.reveal() : value, "utf8");
      const sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        clear,
        additionalData(current, context),
        null,
        nonce,
        current.sealing,
      );
      const envelope = new Uint8Array(HEADER_BYTES + NONCE_BYTES + sealed.length);
      envelope[0] = VERSION;
      envelope.set(current.idBytes, 1);
      envelope.set(nonce, HEADER_BYTES);
      envelope.set(sealed, HEADER_BYTES + NONCE_BYTES);
      return envelope;
    },

    /** Throws {@link CannotDecrypt}. Only the key that the envelope names is tried. */
    open(context: SealContext, sealed: Uint8Array): Secret {
      const keyId = keyIdOf(sealed);
      if (keyId === null || sealed.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES) throw broken(context);
      const key = keyOf(keyId, nameOf(context));
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
        // Without libsodium's error as the cause: it has no further information, and could carry its input.
        throw broken(context);
      }
    },

    /** A keyed hash, to compare secrets without storing them. `keyId` names an older key; throws `key_missing`. */
    hash(value: Secret, keyId = current.id): Uint8Array<ArrayBuffer> {
      const { hashing } = keyOf(keyId, "a keyed hash");
      return new Uint8Array(sodium.crypto_generichash(32, value.reveal(), hashing));
    },
  };
}

/** The id of the key that sealed an envelope; `null` if the value is not an envelope. */
export function keyIdOf(sealed: Uint8Array): string | null {
  if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) return null;
  return Buffer.from(sealed.subarray(1, HEADER_BYTES)).toString("hex");
}

/** SQL for the id of the key that sealed the envelope in `column`, in hex: it stands after the version byte. */
export function keyIdInSql(column: string): string {
  return `encode(substring(${column} FROM 2 FOR ${KEY_ID_BYTES}), 'hex')`;
}

/** A key is any long text: a keyed hash turns it into a master key, from which a subkey for each purpose is derived. */
function deriveKey(text: Secret): Key {
  const master = sodium.crypto_generichash(sodium.crypto_kdf_KEYBYTES, text.reveal(), MASTER_CONTEXT);
  const subkey = (purpose: number) => sodium.crypto_kdf_derive_from_key(32, purpose, SUBKEY_CONTEXT, master);
  const idBytes = sodium
    .crypto_generichash(sodium.crypto_generichash_BYTES_MIN, subkey(3), null)
    .slice(0, KEY_ID_BYTES);
  return { id: Buffer.from(idBytes).toString("hex"), idBytes, sealing: subkey(1), hashing: subkey(2) };
}

/**
 * Random nonces from a pool that the operating system fills. libsodium-wrappers asks its host for one byte at a time
 * (about 58 µs a nonce, thirty times the encryption itself); one large request costs next to nothing.
 */
function createNoncePool(): () => Uint8Array<ArrayBuffer> {
  const pool = new Uint8Array(NONCE_BYTES * NONCES_AT_ONCE);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    // A copy, not a view: the pool's bytes are replaced at the next filling.
    return pool.slice(used, (used += NONCE_BYTES));
  };
}

/** Format version, key id, and table, column and uuid, each after its length, so that two contexts never yield one text. */
function additionalData({ id }: Key, { table, column, uuid }: SealContext): Uint8Array {
  const sized = (part: string) => `${Buffer.byteLength(part)}:${part}`;
  return Buffer.from(`${VERSION}:${id}${sized(table)}${sized(column)}${sized(uuid)}`, "utf8");
}

const nameOf = ({ table, column, uuid }: SealContext) => `${table}.${column} of ${uuid}`;

/** `integrity`: the value was changed or belongs to another place. `key_missing`: its key is not in the ring. */
export class CannotDecrypt extends KitError {}

const broken = (context: SealContext) =>
  new CannotDecrypt(
    "integrity",
    `The sealed value in ${nameOf(context)} cannot be decrypted: it was changed or belongs to another place.`,
  );

/** Every sealed column, by table. */
export const SEALED_COLUMNS = {
  resources: ["sealed_answer", "sealed_config", "sealed_log_input_url", "sealed_log_drain_token"],
  credentials: ["sealed_grant_code", "sealed_access_token", "sealed_refresh_token"],
  client_secrets: ["sealed_secret"],
} as const;
type Column<Table extends keyof typeof SEALED_COLUMNS> = (typeof SEALED_COLUMNS)[Table][number];

/** The context of a credential's value. A person's pair keeps the name of the table in which it was stored first. */
export function credentialSealContext(
  column: Column<"credentials">,
  uuid: string,
  owner: "resource" | "person" = "resource",
): SealContext {
  return { table: owner === "person" ? "people" : "credentials", column, uuid };
}

/** The context of a client secret. Its version takes the place of the uuid. */
export function clientSecretSealContext(version: number): SealContext {
  return { table: "client_secrets", column: "sealed_secret", uuid: String(version) };
}

export function resourceSealContext(column: Column<"resources">, uuid: string): SealContext {
  return { table: "resources", column, uuid };
}
