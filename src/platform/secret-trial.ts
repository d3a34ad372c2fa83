import { randomUUID } from "node:crypto";
import { Secret } from "../secret.ts";
import type { TokenEndpoint } from "./oauth.ts";
import { BUG_WORDS } from "./token-answer.ts";

/**
 * The platform's verdict on a client secret. `unclear`: a 401 that may as well concern the token that was sent along.
 * `unanswered`: none, because the platform is away or in trouble, or the server that answered is no token endpoint.
 * `because` says what came instead.
 */
export type Trial =
  { outcome: "accepted" | "rejected" } | { outcome: "unclear" | "unanswered"; because: string };

/**
 * Finds out whether the platform accepts a client secret, before any token depends on it: asks to refresh a token that
 * never existed, so that the call has no effect. A token endpoint checks the client first (RFC 6749, section 5.2;
 * assumed, section 3), so a complaint about anything else means that the secret is accepted. A 404 or 403 means
 * nothing: any server may answer the one, and a firewall the other.
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
