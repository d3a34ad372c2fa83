import type { Context } from "../context.ts";
import { oauthGrantOf } from "../platform/authorizations.ts";
import { PlatformRefused } from "../platform/errors.ts";
import { credentialSealContext } from "../vault/vault.ts";
import { readTime } from "../values.ts";
import { storeRecovered } from "./queue.ts";

/**
 * Asks the legacy oauth-grant endpoint for a resource's grant and stores it, due at once (platform document,
 * "Oauth-grant retrieval"). The result is the platform's refusal; null: the grant is stored, or is not wanted any more, as
 * the resource was deprovisioned meanwhile, or has got a grant or tokens. Rejects if the platform gave no answer.
 */
export async function recoverGrant(
  { db, vault, config, platformCalls }: Pick<Context, "db" | "vault" | "config" | "platformCalls">,
  uuid: string,
): Promise<PlatformRefused | null> {
  try {
    const { code, expiresAt } = await oauthGrantOf(platformCalls, config, uuid);
    const sealed = vault.seal(credentialSealContext("sealed_grant_code", uuid), code);
    await storeRecovered(db, uuid, sealed, readTime(expiresAt));
    return null;
  } catch (error) {
    if (!(error instanceof PlatformRefused)) throw error;
    return (await isWanted(db, uuid)) ? error : null;
  }
}

async function isWanted(db: Context["db"], uuid: string): Promise<boolean> {
  const lost = { state: { in: ["grant_lost", "no_grant", "needs_reauth"] } };
  const refused = { state: "active", rejectedAt: { not: null } };
  const { credential } = await db.prisma();
  return (await credential.count({ where: { uuid, OR: [lost, refused] } })) > 0;
}
