import { retryWhileDatabaseAway } from "../../database/retry.ts";
import type { TokenAnswer } from "../../platform/oauth.ts";
import { BEFORE_CALL_MS, type ClaimedCredential } from "./claims.ts";
import type { ClientSecret, ClientSecrets } from "./client-secrets.ts";

/** A claimed row and the client secret its call will carry. */
export interface Admitted {
  row: ClaimedCredential;
  secret: ClientSecret;
  /** The one call a minute that finds out whether a rejected secret is accepted again. */
  isProbe: boolean;
}

/** The most rows claimed to find, for a probe, one that was not refused before. */
const MOST_LOOKED_AT = 100;
/** The most refused rows remembered. */
const MOST_REMEMBERED = 1_000;

/** Identifies what a row sends: a verdict on one code or pair does not hold for the next. */
const sentBy = ({ uuid, grantNumber, generation }: ClaimedCredential) =>
  `${uuid} ${grantNumber} ${generation}`;

/**
 * Lets claimed rows through to the token endpoint only while the client secret is worth sending. A rejected secret is
 * our fault and no row's: rows stay as they are and wait, and one of them is the probe. But a platform may answer 401
 * for a token too. So a refused row lets others probe; once the platform has accepted the secret from another row, its
 * next 401 counts as `token_rejected`.
 */
export function createAdmission(secrets: ClientSecrets, release: (row: ClaimedCredential) => Promise<void>) {
  /**
   * For one version: when each grant or pair was first answered `client_rejected`, unless it was answered otherwise
   * since; and when the secret was last accepted. By `performance.now()`.
   */
  let known = { version: 0, refusedAt: new Map<string, number>(), acceptedAt: -Infinity };
  const refusedUnder = ({ version }: ClientSecret): ReadonlyMap<string, number> =>
    version === known.version ? known.refusedAt : new Map();

  return {
    /**
     * Claims up to `most` rows. While the secret is rejected, it lets at most one through, and only if a probe is due.
     */
    async claim(claim: (most: number) => Promise<ClaimedCredential[]>, most: number): Promise<Admitted[]> {
      const secret = await secrets.current();
      if (!secret.isRejected) return (await claim(most)).map((row) => ({ row, secret, isProbe: false }));
      const refused = refusedUnder(secret);
      const rows = await claim(Math.min(refused.size + 1, MOST_LOOKED_AT));
      const row = rows.find((each) => !refused.has(sentBy(each))) ?? rows[0];
      const isProbe = row !== undefined && (await secrets.takeProbe(secret));
      await Promise.all(rows.filter((other) => !isProbe || other !== row).map(release));
      return isProbe ? [{ row, secret, isProbe }] : [];
    },

    /**
     * Judges an answer: a `client_rejected` means that the secret is rejected, or that a token is refused with the same
     * answer.
     */
    judged({ row, secret }: Admitted, answer: TokenAnswer): TokenAnswer {
      const { outcome } = answer;
      if (secret.version < known.version) return answer;
      if (secret.version > known.version)
        known = { version: secret.version, refusedAt: new Map(), acceptedAt: -Infinity };
      const { refusedAt } = known;
      if (outcome === "issued" || outcome === "token_rejected") {
        refusedAt.delete(sentBy(row));
        // Dated by the claim: the call was sent later, so the acceptance is newer than any refusal before the claim.
        known.acceptedAt = Math.max(known.acceptedAt, row.claimedAt.monotonicMs);
      }
      if (outcome !== "client_rejected") return answer;
      const first = refusedAt.get(sentBy(row));
      if (first !== undefined && first < known.acceptedAt) return { ...answer, outcome: "token_rejected" };
      if (first === undefined) refusedAt.set(sentBy(row), performance.now());
      if (refusedAt.size > MOST_REMEMBERED) refusedAt.delete(refusedAt.keys().next().value!);
      return answer;
    },

    /** Checked again just before the call: the secret may have been rejected, or replaced, since the claim. */
    async isStillGood({ secret, isProbe }: Admitted): Promise<boolean> {
      const { version, isRejected } =
        secrets.cached() ?? (await retryWhileDatabaseAway(secrets.current, { upToMs: BEFORE_CALL_MS }));
      return version === secret.version && (isProbe || !isRejected);
    },
  };
}

export type Admission = ReturnType<typeof createAdmission>;
