import type { Context } from "../context.ts";
import { oauthGrantOf, type NoGrant } from "../platform/oauth-grant.ts";
import { credentialSealContext } from "../vault/vault.ts";
import { storeRecovered } from "./queue.ts";

/** A timestamp with the offset `+hhmm` (as the platform writes it), `+hh:mm` or `Z`, of the years 2000 to 9999. */
export function readTime(value: unknown): Date | null {
  if (typeof value !== "string") return null;
  const time = new Date(/[+-]\d{4}$/.test(value) ? `${value.slice(0, -2)}:${value.slice(-2)}` : value);
  const year = time.getUTCFullYear();
  return year >= 2000 && year < 10_000 ? time : null;
}

/**
 * Asks the legacy oauth-grant endpoint for a resource's grant and stores it, due at once (platform document,
 * "Oauth-grant retrieval"). `not_wanted`: meanwhile the resource was deprovisioned, or has got a grant or tokens.
 */
export async function recoverGrant(
  { db, vault, config, platformCalls }: Pick<Context, "db" | "vault" | "config" | "platformCalls">,
  uuid: string,
): Promise<{ outcome: "stored" } | { outcome: "not_wanted" } | NoGrant> {
  const answer = await oauthGrantOf(platformCalls, config, uuid);
  // Another command may have exchanged the grant meanwhile, or a deprovision removed the resource.
  if (answer.outcome === "already_exchanged" || answer.outcome === "unknown")
    return (await isWanted(db, uuid)) ? answer : { outcome: "not_wanted" };
  if (answer.outcome !== "grant") return answer;
  const { code, expiresAt } = answer.grant;
  const sealed = vault.seal(credentialSealContext("sealed_grant_code", uuid), code);
  const isStored = await storeRecovered(db, uuid, sealed, readTime(expiresAt));
  return { outcome: isStored ? "stored" : "not_wanted" };
}

async function isWanted(db: Context["db"], uuid: string): Promise<boolean> {
  const lost = { state: { in: ["grant_lost", "no_grant", "needs_reauth"] } };
  const refused = { state: "active", rejectedAt: { not: null } };
  const { credential } = await db.prisma();
  return (await credential.count({ where: { uuid, OR: [lost, refused] } })) > 0;
}
