import { waitingForDatabase } from "../../database/waiting.ts";
import { BEFORE_CALL_MS, type ClaimedCredential } from "./claims.ts";
import type { ClientSecret, ClientSecrets } from "./client-secrets.ts";

/** A claimed row and the client secret its call will carry. */
export interface Admitted {
  row: ClaimedCredential;
  secret: ClientSecret;
  /** The one call a minute that finds out whether a rejected secret is accepted again. */
  isProbe: boolean;
}

/**
 * Lets claimed rows through to the token endpoint only while the client secret is worth sending. A rejected secret is
 * our fault and no row's: rows stay as they are and wait, and one of them is the probe.
 */
export function createAdmission(secrets: ClientSecrets, release: (row: ClaimedCredential) => Promise<void>) {
  return {
    /** Claims up to `most` rows; while the secret is rejected at most one, and only if a probe is due. */
    async claim(claim: (most: number) => Promise<ClaimedCredential[]>, most: number): Promise<Admitted[]> {
      const secret = await secrets.current();
      if (!secret.isRejected) return (await claim(most)).map((row) => ({ row, secret, isProbe: false }));
      const [row] = await claim(1);
      if (!row) return [];
      if (await secrets.takeProbe(secret)) return [{ row, secret, isProbe: true }];
      await release(row);
      return [];
    },

    /** Asked again just before the call: the secret may have been rejected, or replaced, since the claim. */
    async isStillGood({ secret, isProbe }: Admitted): Promise<boolean> {
      const { version, isRejected } = await waitingForDatabase(secrets.current, { upToMs: BEFORE_CALL_MS });
      return version === secret.version && (isProbe || !isRejected);
    },
  };
}

export type Admission = ReturnType<typeof createAdmission>;
