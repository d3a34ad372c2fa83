import { Secret } from "../secret.ts";
import { foreignText, foreignWord, retryAfterMs } from "./api-errors.ts";
import type { HttpAnswer } from "./http.ts";
import { TransportError } from "./http-errors.ts";
import { isJsonObject, type JsonObject, parsedJson } from "../json-object.ts";

/** A grant as the oauth-grant endpoint gives it. */
export interface OauthGrant {
  code: Secret;
  /** As the platform wrote it, such as `2026-01-31T12:00:00+0000`; null: it did not. */
  expiresAt: string | null;
}

/**
 * Why no grant came. About the endpoint as a whole: `closed` (it was not opened for us), `credentials_rejected`. About
 * this resource: `already_exchanged` (its tokens were issued once, and nothing more can be had), `unknown`. `not_now`:
 * undecided; asking again is harmless. `refused`: any other refusal.
 */
export type NoGrantBecause =
  "closed" | "credentials_rejected" | "already_exchanged" | "unknown" | "not_now" | "refused";

export interface NoGrant {
  outcome: NoGrantBecause;
  error: { id: string; message: string };
  retryAfterMs?: number;
}

export type GrantAnswer = { outcome: "grant"; grant: OauthGrant } | NoGrant;

/**
 * The platform's document names the cases, but not their statuses; these are what its API uses elsewhere for similar
 * cases (assumed, section 2). Any other status below 500 is `refused`.
 */
const BY_STATUS: Readonly<Record<number, NoGrantBecause>> = {
  401: "credentials_rejected",
  403: "closed",
  404: "unknown",
  408: "not_now",
  409: "already_exchanged",
  410: "already_exchanged",
  422: "already_exchanged",
  425: "not_now",
  429: "not_now",
};

const LONGEST_CODE = 2048;
const CALL = "GET /vendor/resources/…/oauth-grant";

/** What an answer of the oauth-grant endpoint means. Pure; `sent` holds the secrets of the request, for masking. */
export function judgeGrantAnswer(answer: HttpAnswer, sent: readonly string[], nowMs?: number): GrantAnswer {
  const body = parsedJson(answer.body);
  if (answer.status < 400) {
    const grant = grantIn(body);
    return grant ? { outcome: "grant", grant } : { outcome: "not_now", error: unreadable(answer) };
  }
  const waitMs = retryAfterMs(answer.headers, nowMs);
  return {
    outcome: BY_STATUS[answer.status] ?? (answer.status >= 500 ? "not_now" : "refused"),
    error: refusal(answer.status, isJsonObject(body) ? body : {}, sent),
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  };
}

/** What a call without an answer means: no grant was used up, whatever happened. */
export function judgeGrantFailure(error: unknown): NoGrant {
  if (error instanceof TransportError)
    return { outcome: "not_now", error: { id: error.id, message: error.message } };
  // A mistake in the kit; its text may hold what we sent.
  return { outcome: "refused", error: { id: "internal_error", message: `${CALL} could not be made` } };
}

function grantIn(body: unknown): OauthGrant | null {
  const grant = isJsonObject(body) ? body["oauth_grant"] : null;
  if (!isJsonObject(grant)) return null;
  const { code, expires_at: expiresAt } = grant;
  if (typeof code !== "string" || code === "" || code.length > LONGEST_CODE) return null;
  return { code: new Secret(code), expiresAt: typeof expiresAt === "string" ? expiresAt : null };
}

/** The message quotes nothing of the body, which may hold a code under another name. */
function unreadable({ status }: HttpAnswer): NoGrant["error"] {
  return { id: "unreadable_answer", message: `${CALL} answered ${status} without a usable grant` };
}

function refusal(status: number, body: JsonObject, sent: readonly string[]): NoGrant["error"] {
  const word = foreignWord(body["id"], sent);
  const said = typeof body["message"] === "string" ? `: ${foreignText(body["message"], sent)}` : "";
  const message = `${CALL} answered ${[status, word].filter(Boolean).join(" ")}${said}`;
  return { id: word ?? `http_${status}`, message };
}
