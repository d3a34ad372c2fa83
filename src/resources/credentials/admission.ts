import { waitingForDatabase } from "../../database/waiting.ts";
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

/** So many rows are looked at for a probe that was not refused before. */
const MOST_LOOKED_AT = 100;
/** So many refused rows are remembered. */
const MOST_REMEMBERED = 1_000;

/** What a row sends: a fresh pair, or another code, is not held to what was said of the one before. */
const sentBy = ({ uuid, grantNumber, generation }: ClaimedCredential) =>
  `${uuid} ${grantNumber} ${generation}`;

/**
 * Lets claimed rows through to the token endpoint only while the client secret is worth sending. A rejected secret is
 * our fault and no row's: rows stay as they are and wait, and one of them is the probe. But a platform may say 401 of a
 * token too. So who was refused lets others probe, and is refused for itself once the platform took the secret from them.
 */
export function createAdmission(secrets: ClientSecrets, release: (row: ClaimedCredential) => Promise<void>) {
  /** What came of one version: when each grant and pair was first refused, unless it was answered otherwise since. */
  let known = { version: 0, refusedAt: new Map<string, number>(), acceptedAt: -Infinity };
  const refusedUnder = ({ version }: ClientSecret): ReadonlyMap<string, number> =>
    version === known.version ? known.refusedAt : new Map();

  return {
    /** Claims up to `most` rows; while the secret is rejected it lets one through at most, and only if a probe is due. */
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

    /** What an answer means: a rejected secret, or a token that is refused as if it were one. */
    judged({ row, secret }: Admitted, answer: TokenAnswer): TokenAnswer {
      const { outcome } = answer;
      if (secret.version < known.version) return answer;
      if (secret.version > known.version)
        known = { version: secret.version, refusedAt: new Map(), acceptedAt: -Infinity };
      const { refusedAt } = known;
      if (outcome === "issued" || outcome === "token_rejected") {
        refusedAt.delete(sentBy(row));
        // It was sent later than it was claimed: only the claim says for certain what it came after.
        known.acceptedAt = Math.max(known.acceptedAt, row.claimedAt.passed);
      }
      if (outcome !== "client_rejected") return answer;
      const first = refusedAt.get(sentBy(row));
      if (first !== undefined && first < known.acceptedAt) return { ...answer, outcome: "token_rejected" };
      if (first === undefined) refusedAt.set(sentBy(row), performance.now());
      if (refusedAt.size > MOST_REMEMBERED) refusedAt.delete(refusedAt.keys().next().value!);
      return answer;
    },

    /** Asked again just before the call: the secret may have been rejected, or replaced, since the claim. */
    async isStillGood({ secret, isProbe }: Admitted): Promise<boolean> {
      const { version, isRejected } = await waitingForDatabase(secrets.current, { upToMs: BEFORE_CALL_MS });
      return version === secret.version && (isProbe || !isRejected);
    },
  };
}

export type Admission = ReturnType<typeof createAdmission>;
