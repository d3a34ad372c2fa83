import { retryWhileDatabaseAway } from "../database/retry.ts";
import type { NotIssued, TokenAnswer } from "../platform/oauth.ts";
import type { ClientSecret, OAuthClient } from "./client-secret.ts";
import { AROUND_CALL, type ClaimedCredential } from "./queue.ts";

// The first of three gates before a call: whether the client secret is worth sending (then the row's turn, `turns.ts`,
// and its mark, `queue.ts`). A rejected secret is our fault and no row's: rows stay as they are and wait.

/** A claimed row and the client secret that its call will carry. */
export interface Admitted {
  row: ClaimedCredential;
  client: Admission;
  secret: ClientSecret;
  /** The one call a minute that finds out whether a rejected secret is accepted again. */
  isProbe: boolean;
}

/** An answer after {@link Admission.judge}: what a 401 means has been decided. */
export type JudgedAnswer =
  | Extract<TokenAnswer, { outcome: "issued" }>
  | (NotIssued & { outcome: Exclude<NotIssued["outcome"], "unauthorized"> });

/** The most rows claimed to find, for a probe, one that was not refused before. */
const MOST_LOOKED_AT = 100;
/** The most refusals remembered. */
const MOST_REMEMBERED = 1_000;
/** Two refused without a reason within this time, and no success since: the client secret is presumed wrong. */
const TOGETHER_MS = 60_000;

export type Admission<Client extends OAuthClient = OAuthClient> = ReturnType<typeof createAdmission<Client>>;

/**
 * Guards one OAuth client. A 401 without a word of RFC 6749 may be about the row's own code or token (assumed, section
 * 3), so a secret that is only presumed wrong holds back refreshes, which have hours, and no grant, which has minutes.
 */
export function createAdmission<Client extends OAuthClient>(client: Client) {
  let refusals = { version: 0, of: createRefusals() };

  const holdsBack = ({ isRejected, isPresumed }: ClientSecret, isGrant: boolean) =>
    isRejected && !(isPresumed && isGrant);

  function refusalsOf({ version }: ClientSecret) {
    if (version > refusals.version) refusals = { version, of: createRefusals() };
    return version === refusals.version ? refusals.of : createRefusals();
  }

  /** The platform has accepted the secret: it issued tokens, or complained about a token in the words of RFC 6749. */
  async function accepted({ row, secret }: Pick<Admitted, "row" | "secret">): Promise<void> {
    refusalsOf(secret).succeeded(row.uuid);
    await client.accepted(secret);
  }

  const admission = {
    client,
    accepted,

    /** The secret to claim rows with; null: it holds them back. */
    async open(isGrant: boolean): Promise<ClientSecret | null> {
      const secret = await client.current();
      return holdsBack(secret, isGrant) ? null : secret;
    },

    /**
     * While the secret holds rows back: claims one for the probe, if that is due. A row that was refused before lets
     * others probe; what else was claimed is given to `release`.
     */
    async probe(
      claim: (most: number) => Promise<ClaimedCredential[]>,
      release: (row: ClaimedCredential) => Promise<void>,
    ): Promise<Admitted[]> {
      const secret = await client.current();
      const refused = refusalsOf(secret);
      const rows = await claim(Math.min(refused.count() + 1, MOST_LOOKED_AT));
      const row = rows.find(({ uuid }) => !refused.has(uuid)) ?? rows[0];
      const isProbe = row !== undefined && (await client.takeProbe(secret));
      await Promise.all(rows.filter((other) => !isProbe || other !== row).map(release));
      return isProbe ? [{ row, client: admission, secret, isProbe }] : [];
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
      const refused = refusalsOf(secret);
      const isOfSecret = refused.note(row.uuid) || !isPresumed;
      if (isOfSecret) await client.rejected(secret, { isPresumed });
      // Another row has succeeded meanwhile.
      if (isPresumed && isOfSecret && refused.isDead(row.uuid)) await client.accepted(secret);
      const isHeldBack = isOfSecret || secret.isRejected;
      const isTriedAgain = isPresumed && row.state === "grant_pending";
      return { ...answer, outcome: isHeldBack && !isTriedAgain ? "client_rejected" : "token_rejected" };
    },

    /** Looked at again just before the call: the secret may have been rejected, or replaced, since the claim. */
    async isStillGood({ row, secret, isProbe }: Admitted): Promise<boolean> {
      const now = client.cached() ?? (await retryWhileDatabaseAway(() => client.current(), AROUND_CALL));
      return now.version === secret.version && (isProbe || !holdsBack(now, row.state === "grant_pending"));
    },
  };
  return admission;
}

/**
 * Who was refused with one client secret. A platform may answer a dead code or token and a wrong client secret with the
 * same 401; so whether it is the secret shows only when it happens to several while nobody succeeds. Who was refused
 * before a success is known to be dead, and says nothing about the secret any more.
 */
function createRefusals() {
  const refused = new Map<string, { at: number; isDead: boolean }>();
  const isDead = (who: string) => refused.get(who)?.isDead ?? false;
  return {
    isDead,
    count: () => refused.size,
    has: (who: string) => refused.has(who),
    /** Notes a refusal; true: the secret is to be presumed wrong. */
    note(who: string): boolean {
      const wasDead = isDead(who);
      refused.delete(who);
      refused.set(who, { at: performance.now(), isDead: wasDead });
      if (refused.size > MOST_REMEMBERED) refused.delete(refused.keys().next().value!);
      const since = performance.now() - TOGETHER_MS;
      return !wasDead && [...refused.values()].filter((each) => !each.isDead && each.at > since).length > 1;
    },
    /** The secret works for this one. */
    succeeded(who: string): void {
      refused.delete(who);
      for (const each of refused.values()) each.isDead = true;
    },
  };
}
