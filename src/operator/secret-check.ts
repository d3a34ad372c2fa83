import { createTokenEndpoint } from "../platform/oauth.ts";
import { isRejectedByPlatform } from "../platform/secret-trial.ts";
import { withHttp } from "../platform/with-http.ts";
import type { Secret } from "../secret.ts";

const PATIENCE_MS = 5_000;

/** Asks the platform whether it rejects a client secret that is not in use yet. */
export function isRejected(authUrl: string, secret: Secret): Promise<boolean> {
  return withHttp((http) =>
    isRejectedByPlatform(createTokenEndpoint({ http, authUrl, timeoutMs: PATIENCE_MS }), secret),
  );
}
