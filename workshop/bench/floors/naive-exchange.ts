import sodium from "libsodium-wrappers";
import type { PrismaClient } from "../../../src/database/client/client.ts";

const { PLATFORM_AUTH_URL = "", CLIENT_SECRET = "", ENCRYPTION_KEY = "" } = process.env;
await sodium.ready;
const key = sodium.crypto_generichash(32, ENCRYPTION_KEY, null);

/**
 * Exchanges a grant as a first version would: `fetch`, libsodium as in its documentation, and Prisma's create. No call
 * is tried again.
 */
export async function exchangeNaively(prisma: PrismaClient, uuid: string, code: string): Promise<void> {
  const body = new URLSearchParams({ grant_type: "authorization_code", code, client_secret: CLIENT_SECRET });
  const answer = await fetch(`${PLATFORM_AUTH_URL}/oauth/token`, { method: "POST", body });
  const tokens = (await answer.json()) as { access_token: string; refresh_token: string };
  await prisma.credential.create({
    data: {
      uuid,
      state: "active",
      sealedAccessToken: seal(tokens.access_token),
      sealedRefreshToken: seal(tokens.refresh_token),
    },
  });
}

/** As in libsodium's documentation. */
export function seal(text: string): Uint8Array<ArrayBuffer> {
  const nonce = sodium.randombytes_buf(sodium.crypto_secretbox_NONCEBYTES);
  return Buffer.concat([nonce, sodium.crypto_secretbox_easy(text, nonce, key)]);
}
