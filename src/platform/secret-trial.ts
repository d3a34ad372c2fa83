import { randomUUID } from "node:crypto";
import { Secret } from "../secret.ts";
import type { TokenEndpoint } from "./oauth.ts";

/** What the platform says to a client secret; `unanswered`: nothing, for it is away or in trouble. */
export type Trial = "accepted" | "rejected" | "unanswered";

/**
 * Whether the platform accepts a client secret, found out before any token depends on it: with it, a token is asked to
 * be refreshed that never existed, so that nothing can come of the call. A token endpoint looks at the client first (RFC
 * 6749, section 5.2), so that any answer but a clear no is a yes.
 */
export async function trySecret({ refresh }: Pick<TokenEndpoint, "refresh">, secret: Secret): Promise<Trial> {
  const { outcome } = await refresh(new Secret(randomUUID()), secret);
  if (outcome === "client_rejected") return "rejected";
  return outcome === "not_issued" || outcome === "unknown" ? "unanswered" : "accepted";
}
