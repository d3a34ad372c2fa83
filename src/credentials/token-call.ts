import type { Log } from "../logging/log.ts";
import type { IssuedTokens, TokenEndpoint } from "../platform/oauth.ts";
import type { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import { storeHeldTokens } from "./held-tokens.ts";
import type { Admission, Admitted, JudgedAnswer } from "./admission.ts";
import { isMarked, NEEDED_LEASE_SECONDS, type ClaimedCredential } from "./claims.ts";
import type { ClientSecret } from "./client-secrets.ts";
import { credentialSealContext, type Opening } from "./opening.ts";
import type { Acquire } from "./priority-semaphore.ts";
import type { CredentialStore } from "./store.ts";
import { shareOfLife } from "./verdict.ts";

export type CallFailure = Exclude<JudgedAnswer, { outcome: "issued" }>;
export type CallResult =
  /** The tokens are stored; their next refresh is due in this many seconds. */
  | { done: "stored"; refreshInSeconds: number }
  /**
   * `not_ours`: tokens were issued but not stored, as the lease was lost. `quarantined`: the row's secret does not
   * open.
   */
  | { done: "not_ours" | "quarantined" }
  /**
   * Nothing was sent, or the platform rejects the client secret, which says nothing about the row: it is released as it
   * was.
   */
  | { done: "not_sent" | "secret_rejected" }
  | { done: "failed"; failure: CallFailure };

/**
 * One call to the token endpoint for one claimed row, in the order that loses nothing: open the row's secret, wait for
 * a permit, mark sent (for a token pair, a fresh claim is the mark), call, store. The caller judges what a failure means.
 */
export type CallTokenEndpoint = (admitted: Admitted, acquire: Acquire) => Promise<CallResult>;

export function createTokenCall({
  admission,
  store,
  opening,
  vault,
  endpoint,
  log,
}: {
  admission: Admission;
  store: CredentialStore;
  opening: Opening;
  vault: Vault;
  endpoint: TokenEndpoint;
  log: Log;
}): CallTokenEndpoint {
  /** The grant code or refresh token; null: it does not open, and the row was quarantined. */
  function credentialOf(row: ClaimedCredential): Promise<Secret | null> {
    return row.state === "grant_pending"
      ? opening.open(row, "sealed_grant_code", row.sealedGrantCode)
      : opening.open(row, "sealed_refresh_token", row.sealedRefreshToken);
  }

  async function storeIssued(
    row: ClaimedCredential,
    tokens: IssuedTokens,
    { sent, secret }: { sent: Secret; secret: ClientSecret },
  ): Promise<boolean> {
    const { accessToken, refreshToken } = tokens;
    const isFirst = row.state === "grant_pending";
    const isReplaced = !isFirst && refreshToken !== null && refreshToken.reveal() !== sent.reveal();
    const sealed = {
      uuid: row.uuid,
      lease: row.lease,
      first: isFirst,
      replaces: isReplaced ? row.generation : null,
      access: vault.seal(credentialSealContext("sealed_access_token", row.uuid), accessToken),
      refresh:
        refreshToken && vault.seal(credentialSealContext("sealed_refresh_token", row.uuid), refreshToken),
      lifeSeconds: tokens.lifeSeconds,
      share: shareOfLife(row.uuid),
      secretVersion: secret.version,
      // A refresh that brings no refresh token keeps the existing one, so this flag would be wrong.
      flags: isFirst ? tokens.flags : tokens.flags.filter((flag) => flag !== "no_refresh_token"),
    };
    if (isFirst && !refreshToken) {
      log.error(
        { alarm: "no_refresh_token", uuid: row.uuid, requestId: row.requestId },
        "The platform sent no refresh token: access ends with this token",
      );
    }
    return storeHeldTokens(() => store.storeTokens(sealed), {
      areOnlyOnes: isFirst || isReplaced,
      onTrouble: (error) =>
        log.error(
          { uuid: row.uuid, requestId: row.requestId, error },
          "Tokens cannot be stored; they are held and tried again",
        ),
    });
  }

  async function giveBack(row: ClaimedCredential, done: "not_sent" | "secret_rejected") {
    await store.release(row);
    return { done };
  }

  /**
   * Sends the call and returns the answer; null: nothing was sent. Once it has a permit, it checks the client secret
   * again, and the lease too unless the claim is fresh ({@link isMarked}).
   */
  async function ask(admitted: Admitted, credential: Secret, acquire: Acquire): Promise<JudgedAnswer | null> {
    const { row, secret } = admitted;
    const release = await acquire();
    if (!release) return null;
    try {
      if (!(await admission.isStillGood(admitted))) return null;
      if (!isMarked(row) && !(await store.markSent(row, NEEDED_LEASE_SECONDS))) return null;
      const call = row.state === "grant_pending" ? endpoint.exchange : endpoint.refresh;
      const answer = await call(credential, secret.value);
      // Before the permit is released: the next call in line must not send a rejected secret again.
      return await admission.judge(admitted, answer);
    } finally {
      release();
    }
  }

  return async function call(admitted, acquire) {
    const { row, secret } = admitted;
    const credential = await credentialOf(row);
    if (!credential) return { done: "quarantined" };
    const answer = await ask(admitted, credential, acquire);
    if (!answer) return await giveBack(row, "not_sent");
    // Our secret is wrong, not the row's: the row keeps its state.
    if (answer.outcome === "client_rejected") return await giveBack(row, "secret_rejected");
    if (answer.outcome !== "issued") return { done: "failed", failure: answer };
    // Nothing may come between the answer and its storing.
    const isStored = await storeIssued(row, answer.tokens, { sent: credential, secret });
    // A success that came too late: if the platform has killed the stored token by it, the first call that is refused
    // for that (401) replaces it.
    if (!isStored)
      log.warn({ uuid: row.uuid }, "Tokens arrived after their lease was lost, and were not stored");
    await admission.accepted(admitted);
    return isStored
      ? { done: "stored", refreshInSeconds: answer.tokens.lifeSeconds * shareOfLife(row.uuid) }
      : { done: "not_ours" };
  };
}
