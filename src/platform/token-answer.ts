import { Secret } from "../secret.ts";
import { foreignText, foreignWord, retryAfterMs } from "./api-errors.ts";
import type { HttpAnswer } from "./http.ts";
import { isJsonObject, type JsonObject, parsedJson } from "../json-object.ts";

export type TokenFlag = "no_refresh_token" | "refresh_token_malformed" | "odd_token_type" | "odd_expires_in";

/**
 * `lifeSeconds` is at most 8 hours. `refreshToken` is null if no usable one came: keep the one you have. `scopes` is
 * there only if the answer names scopes; otherwise they are those that were asked for (RFC 6749, section 5.1).
 */
export interface IssuedTokens {
  accessToken: Secret;
  refreshToken: Secret | null;
  lifeSeconds: number;
  scopes?: string[];
  flags: TokenFlag[];
}

/**
 * Why no tokens came. `not_issued`: certainly none were issued, try again. `unknown`: some may have been, and the
 * answer was lost. `client_rejected`: our client secret is wrong, for every resource. `token_rejected`: this code or
 * refresh token is not (or not yet) good. `unauthorized`: a 401 that does not say which of the two. `bug`: the server
 * did not understand the request, or is no token endpoint.
 */
export type TokenFailure =
  "not_issued" | "unknown" | "client_rejected" | "token_rejected" | "unauthorized" | "bug";

export interface NotIssued {
  outcome: TokenFailure;
  error: { id: string; message: string };
  retryAfterMs?: number;
}

export type TokenAnswer = { outcome: "issued"; tokens: IssuedTokens } | NotIssued;

/** The longest life that an access token is given (platform document, "Limits"), whatever the answer says. */
const MOST_LIFE_SECONDS = 8 * 60 * 60;
const TOKEN = /^[\x21-\x7e]{1,512}$/;

/**
 * What an answer of the token endpoint means. Pure; `sent` holds the secrets of the request, for masking. Anything
 * usable is kept: every 2xx with a well-formed access token is a success, whatever else is odd about it.
 * Follows the platform document, "Token response", and assumed, section 3.
 */
export function judgeTokenAnswer(
  answer: HttpAnswer,
  sent: readonly string[],
  nowMs: number = Date.now(),
): TokenAnswer {
  const body = members(answer);
  return isSuccess(answer) && isToken(body["access_token"])
    ? { outcome: "issued", tokens: issuedTokens(body["access_token"], body) }
    : judgeNotIssued(answer, sent, nowMs);
}

/** The same for an answer that is known to hold no usable token. */
export function judgeNotIssued(
  answer: HttpAnswer,
  sent: readonly string[],
  nowMs: number = Date.now(),
): NotIssued {
  const body = members(answer);
  const word = body["error"] ?? body["id"];
  const waitMs = retryAfterMs(answer.headers, nowMs);
  return {
    outcome: failureOf(answer.status, word, typeof body["error"] === "string"),
    error: isSuccess(answer)
      ? unreadable(answer)
      : refusal(answer, foreignWord(word, sent), saidBy(body, sent)),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  };
}

function issuedTokens(accessToken: string, body: JsonObject): IssuedTokens {
  const { refresh_token: refresh, expires_in: expiresIn, token_type: type } = body;
  const life = statedSeconds(expiresIn);
  const flags: TokenFlag[] = [];
  if (refresh == null || refresh === "") flags.push("no_refresh_token");
  else if (!isToken(refresh)) flags.push("refresh_token_malformed");
  if (String(type).toLowerCase() !== "bearer") flags.push("odd_token_type");
  if (expiresIn != null && life === undefined) flags.push("odd_expires_in");
  return {
    accessToken: new Secret(accessToken),
    refreshToken: isToken(refresh) ? new Secret(refresh) : null,
    // The 8-hour statement governs; `expires_in` may only shorten it, and nonsense counts as absent.
    lifeSeconds: Math.min(life ?? MOST_LIFE_SECONDS, MOST_LIFE_SECONDS),
    ...scopesIn(body["scope"]),
    flags,
  };
}

/** Reads scopes from a text with blanks in between (RFC 6749) or a list (as in authorization records); words only. */
function scopesIn(scope: unknown): { scopes?: string[] } {
  const named: unknown[] = typeof scope === "string" ? scope.split(" ") : Array.isArray(scope) ? scope : [];
  const scopes = named
    .filter((each) => typeof each === "string" && /^[\w.:-]{1,64}$/.test(each))
    .slice(0, 20);
  return scopes.length > 0 ? { scopes: scopes as string[] } : {};
}

/** Whole seconds, at least one, from a number or from digits in a string. */
function statedSeconds(expiresIn: unknown): number | undefined {
  const seconds =
    typeof expiresIn === "number" || typeof expiresIn === "string" ? Math.floor(Number(expiresIn)) : NaN;
  return Number.isFinite(seconds) && seconds >= 1 ? seconds : undefined;
}

const CLIENT_WORDS: unknown[] = ["invalid_client", "unauthorized_client"];
/** Complaints of a token endpoint that concern neither the client nor its token. */
export const BUG_WORDS: unknown[] = ["invalid_request", "unsupported_grant_type", "invalid_scope"];
const LATER_WORDS: unknown[] = ["temporarily_unavailable", "slow_down", "rate_limit"];
/** Statuses by which a server says that it has not acted: request timeout, too early, too many requests. */
const LATER_STATUSES = [408, 425, 429];

/**
 * The table of error classes: the first line that fits decides. Of the other 4xx, a known word counts before the
 * status.
 */
function failureOf(status: number, word: unknown, isOAuthError: boolean): TokenFailure {
  if (status < 400) return "unknown";
  if (status >= 500) return isOAuthError ? "not_issued" : "unknown";
  if (LATER_STATUSES.includes(status) || LATER_WORDS.includes(word)) return "not_issued";
  if (word === "invalid_grant") return "token_rejected";
  if (CLIENT_WORDS.includes(word)) return "client_rejected";
  if (BUG_WORDS.includes(word)) return "bug";
  return status === 401 ? "unauthorized" : "bug";
}

/** The message quotes nothing of the body, whose members may be tokens under another name. */
function unreadable({ status }: HttpAnswer): NotIssued["error"] {
  return {
    id: "unreadable_answer",
    message: `POST /oauth/token answered ${status} without a usable access token`,
  };
}

function refusal({ status }: HttpAnswer, word: string | undefined, said: string): NotIssued["error"] {
  const message = `POST /oauth/token answered ${status}${word ? ` ${word}` : ""}${said && `: ${said}`}`;
  return { id: word ?? `http_${status}`, message };
}

function saidBy(body: JsonObject, sent: readonly string[]): string {
  const text = body["error_description"] ?? body["message"];
  return typeof text === "string" ? foreignText(text, sent) : "";
}

function members({ body }: HttpAnswer): JsonObject {
  const json = parsedJson(body);
  return isJsonObject(json) ? json : {};
}

function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

function isToken(value: unknown): value is string {
  return typeof value === "string" && TOKEN.test(value);
}
