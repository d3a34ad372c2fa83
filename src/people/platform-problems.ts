import { PlatformRefused, UnreadableAnswer } from "../platform/api-errors.ts";
import { AnswerTooLarge, TransportError } from "../platform/http-errors.ts";
import type { NotIssued } from "../platform/oauth.ts";
import type { Problem } from "../pages/pages.tsx";
import { problem } from "./problems.ts";

/** Why the platform sent a browser back without a code (RFC 6749, section 4.1.2.1): `error` is its error code. */
export function authorizeProblem(error: string): Problem {
  if (error === "access_denied") return problem("denied");
  const isTransient = ["server_error", "temporarily_unavailable"].includes(error);
  return problem(isTransient ? "platform_says_later" : "platform_refuses_us", { authorize: known(error) });
}

/** Why the platform issued no tokens for a code. */
export function exchangeProblem({ outcome, error }: NotIssued): Problem {
  if (outcome === "token_rejected" || outcome === "unauthorized") return problem("code_refused", error);
  if (outcome === "client_rejected" || outcome === "bug") return problem("platform_refuses_us", error);
  if (["unreadable_answer", "answer_too_large"].includes(error.id))
    return problem("platform_unreadable", error);
  return problem("platform_says_later", error);
}

/**
 * Why the platform does not say whose the fresh tokens are. An error that is not the platform's is returned as it is.
 */
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

/** Whether a retry soon may succeed. */
export function isForLater({ status }: PlatformRefused): boolean {
  return status === 429 || status >= 500;
}

const ERRORS = ["invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"];

/** Anybody can write the query of a callback, so only error codes that we know reach the log. */
function known(error: string): string {
  return [...ERRORS, "server_error", "temporarily_unavailable"].includes(error) ? error : "another word";
}
