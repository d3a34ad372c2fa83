import { createHttp } from "../platform/http.ts";
import { createTokenEndpoint } from "../platform/oauth.ts";
import { isRejectedByPlatform } from "../platform/secret-trial.ts";
import type { Secret } from "../secret.ts";

const PATIENCE_MS = 5_000;

/** Asks the platform whether it rejects a client secret that is not in use yet. */
export async function isRejected(authUrl: string, secret: Secret): Promise<boolean> {
  const http = createHttp();
  try {
    const endpoint = createTokenEndpoint({ http, authUrl, timeoutMs: PATIENCE_MS });
    return await isRejectedByPlatform(endpoint, secret);
  } finally {
    await http.close();
  }
}
