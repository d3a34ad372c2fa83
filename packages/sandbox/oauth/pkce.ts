import { createHash } from "node:crypto";
import type { Challenge, CodeRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";

const FORM = /^[\w.~-]{43,128}$/;

/**
 * The code challenge of an authorize request (RFC 7636, section 4.3); null if it has none, or the setting `pkce` ignores
 * it; a sentence if it is wrong.
 */
export function readChallenge(
  { settings: { pkce } }: World,
  query: URLSearchParams,
): Challenge | null | string {
  const value = query.get("code_challenge");
  const method = query.get("code_challenge_method") ?? "plain";
  if (pkce === "ignored") return null;
  if (value === null) return pkce === "required" ? "code_challenge is missing." : null;
  if (!FORM.test(value)) return "code_challenge must be 43 to 128 unreserved characters.";
  if (method !== "S256" && method !== "plain") return "code_challenge_method must be S256 or plain.";
  return { value, method };
}

/** Why a code cannot be exchanged with this verifier, as a sentence; null when it can. */
export function whyNotVerified({ challenge = null }: CodeRecord, verifier: string | null): string | null {
  if (challenge === null) return null;
  if (verifier === null) return "code_verifier is missing, and the code was asked for with a code_challenge.";
  const hash = createHash("sha256").update(verifier).digest("base64url");
  const isRight = FORM.test(verifier) && challenge.value === (challenge.method === "S256" ? hash : verifier);
  return isRight ? null : "The code_verifier does not fit the code_challenge.";
}
