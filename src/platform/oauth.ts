import type { Secret } from "../secret.ts";
import type { Http } from "./http.ts";
import { AnswerTooLarge, RedirectRefused, TransportError } from "./http-errors.ts";
import { baseAddress } from "./path.ts";
import { judgeNotIssued, judgeTokenAnswer, type NotIssued, type TokenAnswer } from "./token-answer.ts";

export type { IssuedTokens, NotIssued, TokenAnswer, TokenFailure, TokenFlag } from "./token-answer.ts";

/**
 * The partner's calls to `{auth_url}/oauth/token`. None ever throws or retries: the credential's row schedules retries.
 */
export interface TokenEndpoint {
  /**
   * A code for the first pair of tokens: the grant code of a provision request, or that of a person's sign-in, with the
   * verifier of its challenge (RFC 7636).
   */
  exchange(code: Secret, clientSecret: Secret, verifier?: Secret): Promise<TokenAnswer>;
  /** A new access token. The old one stops working as soon as the platform has issued it. */
  refresh(refreshToken: Secret, clientSecret: Secret): Promise<TokenAnswer>;
}

/** A token response has a few hundred bytes. */
const MOST_BYTES = 64_000;

/**
 * Follows the platform document, "Endpoints: Authorization service": form-encoded, the client secret in the body, and
 * nothing secret in the address. `timeoutMs` covers one whole call.
 */
export function createTokenEndpoint({
  http,
  authUrl,
  timeoutMs = 20_000,
}: {
  http: Http;
  authUrl: string;
  timeoutMs?: number;
}): TokenEndpoint {
  const url = new URL(`${baseAddress(authUrl)}/oauth/token`);

  async function ask(form: Record<string, string>): Promise<TokenAnswer> {
    const sent = Object.values(form).filter((value) => value !== form["grant_type"]);
    try {
      const body = new URLSearchParams(form).toString();
      const answer = await http.send({
        method: "POST",
        url,
        headers: HEADERS,
        body,
        timeoutMs,
        maxBytes: MOST_BYTES,
      });
      return judgeTokenAnswer(answer, sent);
    } catch (error) {
      return judgeFailure(error, sent);
    }
  }

  return {
    exchange: (code, clientSecret, verifier) =>
      ask({
        ...{ grant_type: "authorization_code", code: code.reveal(), client_secret: clientSecret.reveal() },
        ...(verifier && { code_verifier: verifier.reveal() }),
      }),
    refresh: (refreshToken, clientSecret) =>
      ask({
        grant_type: "refresh_token",
        refresh_token: refreshToken.reveal(),
        client_secret: clientSecret.reveal(),
      }),
  };
}

const HEADERS = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };

/** What a call without an answer means. */
function judgeFailure(error: unknown, sent: readonly string[]): NotIssued {
  if (!(error instanceof TransportError)) {
    // Nothing of ours throws anything else, so this is a mistake in the kit; its text may hold what we sent.
    return {
      outcome: "bug",
      error: { id: "internal_error", message: "POST /oauth/token could not be made" },
    };
  }
  const said = { id: error.id, message: error.message };
  if (error instanceof AnswerTooLarge) {
    // The body is unusable, but the status is known: a 401 counts as one whatever its body.
    return { ...judgeNotIssued({ status: error.status, headers: {}, body: "" }, sent), error: said };
  }
  // A server that answers with a redirect (a maintenance page, a moved host) has not looked at the grant. Treating that
  // as a bug would stop the calls for longer than a grant lives, although a maintenance page is soon gone.
  if (error instanceof RedirectRefused) return { outcome: "not_issued", error: said };
  return { outcome: error.mayHaveArrived ? "unknown" : "not_issued", error: said };
}
