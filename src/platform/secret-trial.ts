import { randomUUID } from "node:crypto";
import { Secret } from "../secret.ts";
import type { TokenEndpoint } from "./oauth.ts";
import { BUG_WORDS } from "./token-answer.ts";

/**
 * What the platform says to a client secret; `unanswered`: nothing, for it is away or in trouble, or who answered is no
 * token endpoint. `because` tells what came instead.
 */
export type Trial = { outcome: "accepted" | "rejected" } | { outcome: "unanswered"; because: string };

/**
 * Whether the platform accepts a client secret, found out before any token depends on it: with it, a token is asked to
 * be refreshed that never existed, so that nothing can come of the call. A token endpoint looks at the client first (RFC
 * 6749, section 5.2), so that a complaint of something else is a yes; anybody may answer 404, or a firewall 403.
 */
export async function trySecret({ refresh }: Pick<TokenEndpoint, "refresh">, secret: Secret): Promise<Trial> {
  const answer = await refresh(new Secret(randomUUID()), secret);
  if (answer.outcome === "issued" || answer.outcome === "token_rejected") return { outcome: "accepted" };
  if (answer.outcome === "client_rejected") return { outcome: "rejected" };
  const { id, message } = answer.error;
  const isYes = answer.outcome === "bug" && BUG_WORDS.includes(id);
  return isYes ? { outcome: "accepted" } : { outcome: "unanswered", because: message.replace(/\.+$/, "") };
}
