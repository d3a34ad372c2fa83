import { PlatformRefused, UnreadableAnswer } from "../platform/api-errors.ts";
import { AnswerTooLarge, TransportError } from "../platform/http-errors.ts";
import type { NotIssued } from "../platform/oauth.ts";
import type { Problem } from "../pages/pages.tsx";
import { problem } from "./problems.ts";

/** Why the platform sent somebody back without a code (RFC 6749, section 4.1.2.1): `error` is its word. */
export function authorizeProblem(error: string): Problem {
  if (error === "access_denied") return problem("denied");
  const isPassing = ["server_error", "temporarily_unavailable"].includes(error);
  return problem(isPassing ? "platform_says_later" : "platform_refuses_us", { authorize: known(error) });
}

/** Why a code brought no tokens. */
export function exchangeProblem({ outcome, error }: NotIssued): Problem {
  if (outcome === "token_rejected") return problem("code_refused", error);
  if (outcome === "client_rejected" || outcome === "bug") return problem("platform_refuses_us", error);
  if (["unreadable_answer", "answer_too_large"].includes(error.id))
    return problem("platform_unreadable", error);
  return problem("platform_says_later", error);
}

/** Why fresh tokens do not tell who gave them. */
export function accountProblem(error: unknown): unknown {
  if (error instanceof PlatformRefused) return refusedAccount(error);
  if (error instanceof UnreadableAnswer || error instanceof AnswerTooLarge)
    return problem("platform_unreadable", error);
  return error instanceof TransportError ? problem("platform_says_later", error) : error;
}

function refusedAccount(error: PlatformRefused): Problem {
  if (error.status === 401 || error.status === 403) return problem("account_refused", error);
  return problem(isForLater(error) ? "platform_says_later" : "platform_refuses_us", error);
}

/** Whether the platform may answer otherwise soon. */
export function isForLater({ status }: PlatformRefused): boolean {
  return status === 429 || status >= 500;
}

const ERRORS = ["invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"];

/** Anybody can write the address of a callback, so only words we know reach the log. */
function known(error: string): string {
  return [...ERRORS, "server_error", "temporarily_unavailable"].includes(error) ? error : "another word";
}
