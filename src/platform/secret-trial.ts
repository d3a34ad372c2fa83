import { randomUUID } from "node:crypto";
import { Secret } from "../secret.ts";
import type { TokenEndpoint } from "./oauth.ts";

/**
 * Whether the platform rejects a client secret, found out before any token depends on it: with it, a token is asked to
 * be refreshed that never existed, so that nothing can come of the call. A token endpoint looks at the client first (RFC
 * 6749, section 5.2). Any answer but a clear no, or none at all, is no proof.
 */
export async function isRejectedByPlatform(
  { refresh }: Pick<TokenEndpoint, "refresh">,
  secret: Secret,
): Promise<boolean> {
  const { outcome } = await refresh(new Secret(randomUUID()), secret);
  return outcome === "client_rejected";
}
