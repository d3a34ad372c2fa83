import { retryWhileDatabaseAway } from "../database/retry.ts";
import type { TokenAnswer } from "../platform/oauth.ts";
import { createRefusals } from "../platform/refusals.ts";
import { BEFORE_CALL_MS, type ClaimedCredential } from "./claims.ts";
import type { ClientSecret, ClientSecrets } from "./client-secrets.ts";

/** A claimed row and the client secret its call will carry. */
export interface Admitted {
  row: ClaimedCredential;
  secret: ClientSecret;
  /** The one call a minute that finds out whether a rejected secret is accepted again. */
  isProbe: boolean;
}

/** An answer after {@link Admission.judge}: what a 401 means has been decided. */
export type JudgedAnswer = TokenAnswer & { outcome: Exclude<TokenAnswer["outcome"], "unauthorized"> };

/** The most rows claimed to find, for a probe, one that was not refused before. */
const MOST_LOOKED_AT = 100;

/**
 * Lets claimed rows through to the token endpoint only while the client secret is worth sending. A rejected secret is
 * our fault and no row's: rows stay as they are and wait, and one of them is the probe; a row that was refused before
 * lets others probe. But a 401 without a word of RFC 6749 may be about the row's own code or token (assumed, section
 * 3). So a secret that is only presumed wrong holds back refreshes, which have hours, and no grant, which has minutes.
 */
export function createAdmission(secrets: ClientSecrets, release: (row: ClaimedCredential) => Promise<void>) {
  let known = { version: 0, refusals: createRefusals() };

  const holdsBack = ({ isRejected, isPresumed }: ClientSecret, isGrant: boolean) =>
    isRejected && !(isPresumed && isGrant);

  function refusalsOf({ version }: ClientSecret) {
    if (version > known.version) known = { version, refusals: createRefusals() };
    return version === known.version ? known.refusals : createRefusals();
  }

  /** The platform has accepted the secret: it issued tokens, or complained about a token in the words of RFC 6749. */
  async function accepted({ row, secret }: Admitted): Promise<void> {
    refusalsOf(secret).succeeded(row.uuid);
    await secrets.accepted(secret);
  }

  return {
    /**
     * Claims up to `most` rows. While the secret holds them back, it lets at most one through, and only if a probe is
     * due.
     */
    async claim(
      claim: (most: number) => Promise<ClaimedCredential[]>,
      most: number,
      isGrant: boolean,
    ): Promise<Admitted[]> {
      const secret = await secrets.current();
      if (!holdsBack(secret, isGrant))
        return (await claim(most)).map((row) => ({ row, secret, isProbe: false }));
      const refusals = refusalsOf(secret);
      const rows = await claim(Math.min(refusals.count() + 1, MOST_LOOKED_AT));
      const row = rows.find(({ uuid }) => !refusals.has(uuid)) ?? rows[0];
      const isProbe = row !== undefined && (await secrets.takeProbe(secret));
      await Promise.all(rows.filter((other) => !isProbe || other !== row).map(release));
      return isProbe ? [{ row, secret, isProbe }] : [];
    },

    /**
     * Decides whether a refusal is about the client secret or about what the row sent, and stores what it says about
     * the secret. An answer with tokens says nothing here: they are stored first.
     */
    async judge(admitted: Admitted, answer: TokenAnswer): Promise<JudgedAnswer> {
      const { row, secret } = admitted;
      const { outcome } = answer;
      if (outcome === "token_rejected") await accepted(admitted);
      if (outcome !== "client_rejected" && outcome !== "unauthorized") return answer as JudgedAnswer;
      const isPresumed = outcome === "unauthorized";
      const refusals = refusalsOf(secret);
      const isOfSecret = refusals.note(row.uuid) || !isPresumed;
      if (isOfSecret) await secrets.rejected(secret, { isPresumed });
      // Another row has succeeded meanwhile.
      if (isPresumed && isOfSecret && refusals.isDead(row.uuid)) await secrets.accepted(secret);
      const isHeldBack = isOfSecret || secret.isRejected;
      const isTriedAgain = isPresumed && row.state === "grant_pending";
      return { ...answer, outcome: isHeldBack && !isTriedAgain ? "client_rejected" : "token_rejected" };
    },

    accepted,

    /** Checked again just before the call: the secret may have been rejected, or replaced, since the claim. */
    async isStillGood({ row, secret, isProbe }: Admitted): Promise<boolean> {
      const now =
        secrets.cached() ?? (await retryWhileDatabaseAway(secrets.current, { upToMs: BEFORE_CALL_MS }));
      return now.version === secret.version && (isProbe || !holdsBack(now, row.state === "grant_pending"));
    },
  };
}

export type Admission = ReturnType<typeof createAdmission>;
