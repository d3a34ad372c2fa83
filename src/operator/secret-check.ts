import { createTokenEndpoint, trySecret, type Trial } from "../platform/oauth.ts";
import { withHttp } from "../platform/http.ts";
import type { Secret } from "../secret.ts";

const PATIENCE_MS = 5_000;

/** Asks the platform whether it accepts a client secret. */
export function triedSecret(authUrl: string, secret: Secret): Promise<Trial> {
  return withHttp((http) =>
    trySecret(createTokenEndpoint({ http, authUrl, timeoutMs: PATIENCE_MS }), secret),
  );
}
