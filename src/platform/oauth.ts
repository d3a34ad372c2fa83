import { randomUUID } from "node:crypto";
import { Secret } from "../secret.ts";
import { isJsonObject, type JsonObject, parsedJson } from "../values.ts";
import { type Http, type HttpAnswer, refusalOf, retryAfterMs, TransportError } from "./call.ts";

/** `lifeSeconds` is at most 8 hours. `refreshToken`: `null` if the answer has no usable one; the stored one stays valid. */
export interface IssuedTokens {
  accessToken: Secret;
  refreshToken: Secret | null;
  lifeSeconds: number;
}

/**
 * Why no tokens arrived. `not_issued`: none were issued; retry. `unknown`: the platform may have issued tokens, but its
 * answer was lost. `client_rejected`: the client secret is wrong, for every resource. `token_rejected`: this code or refresh
 * token is not valid (or not yet). `unauthorized`: a 401 that names neither. `bug`: the server did not understand the request,
 * or is not a token endpoint.
 */
type TokenFailure = "not_issued" | "unknown" | "client_rejected" | "token_rejected" | "unauthorized" | "bug";

export interface NotIssued {
  outcome: TokenFailure;
  error: { id: string; message: string };
  retryAfterMs?: number;
}

/** A failure whose cause is not a rejected client. After `judge`, `unauthorized` means that the secret is presumed rejected. */
export type Failure = NotIssued & { outcome: Exclude<TokenFailure, "client_rejected"> };

export type TokenAnswer = { outcome: "issued"; tokens: IssuedTokens } | NotIssued;

/** The calls to `{auth_url}/oauth/token`. They never throw and never retry, because the credential's row schedules retries. */
export interface TokenEndpoint {
  /**
   * Exchanges a code for the first token pair: the grant code of a provision request, or the code of a person's sign-in with
   * the verifier of its challenge (RFC 7636).
   */
  exchange(code: Secret, clientSecret: Secret, verifier?: Secret): Promise<TokenAnswer>;
  /** The old access token stops working as soon as the platform has issued the new one. */
  refresh(refreshToken: Secret, clientSecret: Secret): Promise<TokenAnswer>;
}

const CALL = "POST /oauth/token";
const HEADERS = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };

/** Follows the platform document, "Endpoints: Authorization service". */
export function tokenEndpointAt(on: { http: Http; authUrl: string; timeoutMs?: number }): TokenEndpoint {
  const url = new URL(`${on.authUrl}/oauth/token`);
  const limits = { timeoutMs: on.timeoutMs ?? 20_000, maxBytes: 64_000 };

  async function ask(grantType: string, secrets: Record<string, Secret>): Promise<TokenAnswer> {
    const sent = Object.entries(secrets).map(([name, secret]) => [name, secret.reveal()]);
    const body = new URLSearchParams([["grant_type", grantType], ...sent]).toString();
    const values = sent.map(([, value]) => value!);
    try {
      const answer = await on.http.send({ method: "POST", url, headers: HEADERS, body, ...limits });
      return judgeTokenAnswer(answer, values);
    } catch (error) {
      return withoutAnswer(error, values);
    }
  }

  return {
    exchange: (code, clientSecret, verifier) =>
      ask("authorization_code", {
        code,
        client_secret: clientSecret,
        ...(verifier && { code_verifier: verifier }),
      }),
    refresh: (refreshToken, clientSecret) =>
      ask("refresh_token", { refresh_token: refreshToken, client_secret: clientSecret }),
  };
}

function withoutAnswer(error: unknown, sent: readonly string[]): NotIssued {
  // A fault of the kit. The message is left out, because it may contain the sent secrets.
  if (!(error instanceof TransportError))
    return { outcome: "bug", error: { id: "internal_error", message: `${CALL} could not be made` } };
  const { id, message, status, mayHaveArrived } = error;
  const said = { id, message };
  // A server that answers with a redirect (a maintenance page, a moved host) has not used the grant. As a `bug`, the next call
  // would come later than the end of the grant.
  if (id === "redirect_refused" || !mayHaveArrived) return { outcome: "not_issued", error: said };
  // An answer that is too large has a status, which counts whatever the body is.
  if (status !== null) return { ...judgeRefusal({ status, headers: {}, body: "" }, sent), error: said };
  return { outcome: "unknown", error: said };
}

/**
 * Follows the platform document, "Token response", and assumed, section 3. `sent`: the secrets of the request, which are
 * masked. Every 2xx with a well-formed access token is a success, even if other members are invalid.
 */
export function judgeTokenAnswer(answer: HttpAnswer, sent: readonly string[]): TokenAnswer {
  const body = answer.status < 300 ? membersOf(answer) : {};
  return isToken(body["access_token"])
    ? { outcome: "issued", tokens: issuedTokens(body["access_token"], body) }
    : judgeRefusal(answer, sent);
}

/** The longest life of an access token (platform document, "Limits"). */
const MOST_LIFE_SECONDS = 8 * 60 * 60;

function issuedTokens(accessToken: string, body: JsonObject): IssuedTokens {
  const { refresh_token: refresh, expires_in: expiresIn } = body;
  const isStated = typeof expiresIn === "number" || typeof expiresIn === "string";
  const seconds = isStated ? Math.floor(Number(expiresIn)) : NaN;
  return {
    accessToken: new Secret(accessToken),
    refreshToken: isToken(refresh) ? new Secret(refresh) : null,
    // `expires_in` may only shorten the 8 hours. An invalid value counts as absent.
    lifeSeconds: seconds >= 1 ? Math.min(seconds, MOST_LIFE_SECONDS) : MOST_LIFE_SECONDS,
  };
}

function judgeRefusal(answer: HttpAnswer, sent: readonly string[]): NotIssued {
  const waitMs = retryAfterMs(answer.headers);
  // An unreadable success is not quoted, because its members may be tokens under another name.
  const message = `${CALL} answered ${answer.status} without a usable access token`;
  const unreadable = answer.status < 300 && { id: "unreadable_answer", message };
  const error = unreadable || refusalOf(`${CALL} answered`, answer, sent);
  return { outcome: failureOf(answer), error, ...(waitMs !== null && { retryAfterMs: waitMs }) };
}

const CLIENT_WORDS: unknown[] = ["invalid_client", "unauthorized_client"];
/** Complaints of a token endpoint that concern neither the client nor its token. */
const BUG_WORDS: unknown[] = ["invalid_request", "unsupported_grant_type", "invalid_scope"];
const LATER_WORDS: unknown[] = ["temporarily_unavailable", "slow_down", "rate_limit"];
/** The server has not acted: request timeout, too early, too many requests. */
const LATER_STATUSES = [408, 425, 429];

/** The first line that matches decides. For 4xx, the error code of the body counts before the status. */
function failureOf(answer: HttpAnswer): TokenFailure {
  const { status } = answer;
  const { error, id } = membersOf(answer);
  const word = error ?? id;
  if (status < 400) return "unknown";
  if (status >= 500) return typeof error === "string" ? "not_issued" : "unknown";
  if (LATER_STATUSES.includes(status) || LATER_WORDS.includes(word)) return "not_issued";
  if (word === "invalid_grant") return "token_rejected";
  if (CLIENT_WORDS.includes(word)) return "client_rejected";
  if (BUG_WORDS.includes(word)) return "bug";
  return status === 401 ? "unauthorized" : "bug";
}

function membersOf({ body }: HttpAnswer): JsonObject {
  const json = parsedJson(body);
  return isJsonObject(json) ? json : {};
}

function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,512}$/.test(value);
}

/**
 * The platform's verdict on a client secret. `unclear`: a 401 that may also concern the token of the call. `unanswered`: the
 * platform is unreachable or fails, or the server is not a token endpoint. `because`: the answer or the error.
 */
export type Trial =
  { outcome: "accepted" | "rejected" } | { outcome: "unclear" | "unanswered"; because: string };

/**
 * Finds out whether the platform accepts a client secret, before any token depends on it. The call refreshes a token that
 * never existed, so it has no effect. A token endpoint checks the client first (RFC 6749, section 5.2; assumed, section 3), so
 * an error about anything else means that the secret is accepted. A 404 or 403 proves nothing: any server may answer the one,
 * and a firewall the other.
 */
export async function trySecret({ refresh }: Pick<TokenEndpoint, "refresh">, secret: Secret): Promise<Trial> {
  const answer = await refresh(new Secret(randomUUID()), secret);
  if (answer.outcome === "issued" || answer.outcome === "token_rejected") return { outcome: "accepted" };
  if (answer.outcome === "client_rejected") return { outcome: "rejected" };
  const { id, message } = answer.error;
  if (answer.outcome === "bug" && BUG_WORDS.includes(id)) return { outcome: "accepted" };
  const outcome = answer.outcome === "unauthorized" ? "unclear" : "unanswered";
  return { outcome, because: message.replace(/\.+$/, "") };
}
