import { randomFillSync } from "node:crypto";

/**
 * Random nonces from a pool that the operating system fills. libsodium-wrappers asks its host for one byte at a time
 * (about 58 µs a nonce, thirty times the encryption itself); one large request costs next to nothing.
 */
export function createNoncePool(nonceBytes: number, nonces = 512): () => Uint8Array<ArrayBuffer> {
  const pool = new Uint8Array(nonceBytes * nonces);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    // A copy, not a view: the pool's bytes are replaced at the next filling.
    return pool.slice(used, (used += nonceBytes));
  };
}
