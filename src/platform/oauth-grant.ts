import type { Secret } from "../secret.ts";
import { judgeGrantAnswer, judgeGrantFailure, type GrantAnswer } from "./grant-answer.ts";
import type { Http } from "./http.ts";
import { baseAddress, path } from "./path.ts";

export type { GrantAnswer, NoGrant, NoGrantBecause, OauthGrant } from "./grant-answer.ts";

/**
 * The legacy oauth-grant endpoint, closed unless the platform opened it for this partner. Never throws, and asks once;
 * asking again is harmless, because the platform answers with the same grant until that expires.
 */
export interface OauthGrantEndpoint {
  /** The unexpired grant of a resource, or a new one if that has expired. */
  grantOf(uuid: string): Promise<GrantAnswer>;
}

/** An answer has a few hundred bytes. */
const MOST_BYTES = 64_000;

/**
 * Follows the platform document, "Authorization management": `GET /vendor/resources/{uuid}/oauth-grant` with the Basic
 * credentials of the legacy partner API, and no bearer token. `timeoutMs` covers the whole call.
 */
export function createOauthGrantEndpoint(needs: {
  http: Http;
  apiUrl: string;
  mediaType: string;
  addonId: string;
  addonPassword: Secret;
  timeoutMs?: number;
}): OauthGrantEndpoint {
  const { http, apiUrl, addonId, addonPassword, mediaType, timeoutMs = 10_000 } = needs;

  return {
    async grantOf(uuid) {
      const password = addonPassword.reveal();
      const credentials = Buffer.from(`${addonId}:${password}`).toString("base64");
      const sent = [password, credentials];
      try {
        const answer = await http.send({
          method: "GET",
          url: baseAddress(apiUrl) + path`/vendor/resources/${uuid}/oauth-grant`,
          headers: { accept: mediaType, authorization: `Basic ${credentials}` },
          timeoutMs,
          maxBytes: MOST_BYTES,
        });
        return judgeGrantAnswer(answer, sent);
      } catch (error) {
        return judgeGrantFailure(error);
      }
    },
  };
}
