import { retryWhileUnreachable, type Database } from "../database/database.ts";
import { Misconfigured } from "../errors.ts";
import type { Wake } from "../jobs/run.ts";
import type { Log } from "../logging/log.ts";
import type { Scrubber, Secret } from "../secret.ts";
import type { Failure, TokenAnswer } from "../platform/oauth.ts";
import { clientSecretSealContext, keyIdOf, type Vault } from "../vault/vault.ts";
import { AROUND_CALL, type ClaimedCredential } from "./queue.ts";
import {
  acceptSecret,
  addSecret,
  countStale,
  makeOlderTokensDue,
  readClientSecret,
  rejectSecret,
  takeSecretProbe,
  type StoredSecret,
} from "./store.ts";
import type { Tries } from "./states.ts";

/** A rejection is a fact about the secret, never about a token: it stops the calls, but for one probe a minute. */
export interface ClientSecret {
  version: number;
  value: Secret;
  /** Whether the platform refused it, as far as any process knows; at most 5 seconds old. */
  isRejected: boolean;
  /** It only seems so: two credentials were refused, and the platform did not say why. */
  isPresumed: boolean;
}

/** An answer whose 401, if it is one, has been judged. */
export type JudgedAnswer = Extract<TokenAnswer, { outcome: "issued" }> | Failure | "client_rejected";

type Refused = Tries & Pick<ClaimedCredential, "uuid" | "claimedAtMs">;

/** One that is only presumed wrong holds back refreshes, which have hours, and no grant, which has minutes. */
export const holdsBack = ({ isRejected, isPresumed }: ClientSecret, isGrant: boolean): boolean =>
  isRejected && !(isPresumed && isGrant);

const STALE_AFTER_MS = 5_000;
/** Two credentials refused without a reason within this time, and no success between: it is presumed wrong. */
const TOGETHER_MS = 60_000;

/** Not `Context`, which holds what is made here. */
export interface Needs {
  db: Database;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
  wake: Pick<Wake, "refreshTokens">;
}

/** The versions of the client secret, sealed in the database, so that all processes use the same one. */
export function createClientSecrets({ db, vault, scrubber, log, wake }: Needs) {
  let seen: (ClientSecret & { readAt: number }) | null = null;
  let suspect: { uuid: string; version: number; atMs: number } | null = null;
  let succeededAtMs = -Infinity;
  /** The version whose rejection this process has reported. */
  let reported: number | null = null;

  const seal = (value: Secret) => (version: number) => ({
    sealedSecret: vault.seal(clientSecretSealContext(version), value),
    hash: vault.hash(value),
  });

  function isOf(value: Secret, { sealedSecret, hash }: StoredSecret): boolean {
    const keyId = keyIdOf(sealedSecret);
    return (
      keyId !== null && vault.keyIds.includes(keyId) && Buffer.compare(vault.hash(value, keyId), hash) === 0
    );
  }

  async function spread(signal?: AbortSignal): Promise<number> {
    const due = await makeOlderTokensDue(db, signal);
    if (due > 0) wake.refreshTokens();
    return due;
  }

  const cached = () => (seen && performance.now() - seen.readAt < STALE_AFTER_MS ? seen : null);

  async function rejected({ version }: ClientSecret, isPresumed: boolean): Promise<void> {
    const { isNews, isCurrent } = await retryWhileUnreachable(
      () => rejectSecret(db, version, isPresumed),
      AROUND_CALL,
    );
    // Cleared only after the write: a read during it would have cached the old state.
    seen = null;
    // A newer version is stored already, or this one's rejection is reported. That it is no news says nothing: who found
    // it first may be a command on a terminal, or have lost this statement's answer.
    if (!isCurrent || (!isNews && reported === version)) return;
    reported = version;
    const what = isPresumed
      ? "The platform answers 401 for several resources and gives no reason: if the client secret was reset, run kit secret set with the new one"
      : "The platform rejects our client secret: run kit secret set with the new one";
    log.error({ alarm: "client_secret_rejected", version, isPresumed }, what);
  }

  async function accepted({ version }: ClientSecret): Promise<void> {
    suspect = reported = null;
    succeededAtMs = performance.now();
    if (seen && !seen.isRejected) return;
    const turned = await retryWhileUnreachable(() => acceptSecret(db, version), AROUND_CALL);
    seen = null;
    if (turned) log.info({ version }, "The platform accepts our client secret again");
  }

  /**
   * A refusal without a reason; true: another credential got one within a minute and nobody succeeded in between, so
   * the secret is to be presumed wrong. A row that was first refused before the last success is dead, and says nothing.
   */
  function isSecond(row: Refused, { version }: ClientSecret): boolean {
    const { uuid, rejectedForSeconds, claimedAtMs } = row;
    const atMs = performance.now();
    const firstAgoMs =
      rejectedForSeconds === null ? 0 : rejectedForSeconds * 1_000 + Date.now() - claimedAtMs;
    if (atMs - firstAgoMs < succeededAtMs) return false;
    const one = suspect?.version === version && atMs - suspect.atMs < TOGETHER_MS ? suspect : null;
    suspect = one ?? { uuid, version, atMs };
    return one !== null && one.uuid !== uuid;
  }

  return {
    cached,
    accepted,

    /**
     * Stores what an answer says about the secret. One with tokens says nothing here: they are stored first. A 401
     * without a word of RFC 6749 is about the row's own code or token, until {@link isSecond} (assumed, section 3).
     */
    async judge(row: Refused, secret: ClientSecret, answer: TokenAnswer): Promise<JudgedAnswer> {
      const { outcome } = answer;
      if (outcome === "token_rejected") await accepted(secret);
      if (outcome === "client_rejected") {
        await rejected(secret, false);
        return outcome;
      }
      if (outcome !== "unauthorized") return answer as JudgedAnswer;
      const isPresumed = isSecond(row, secret);
      if (isPresumed) await rejected(secret, isPresumed);
      const isOfSecret = (isPresumed || secret.isRejected) && row.state !== "grant_pending";
      return { ...answer, outcome: isOfSecret ? "unauthorized" : "token_rejected" };
    },

    /** The current secret. Throws {@link Misconfigured} if there is none. */
    async current(): Promise<ClientSecret> {
      const known = cached();
      if (known) return known;
      const readAt = performance.now();
      const row = await readClientSecret(db);
      if (!row)
        throw new Misconfigured(
          "No client secret is known. Set CLIENT_SECRET, or run: npm run --silent kit -- secret set",
        );
      const { sealedSecret, ...state } = row;
      const context = clientSecretSealContext(row.version);
      const value = seen?.version === row.version ? seen.value : vault.open(context, sealedSecret);
      scrubber.hide(value);
      seen = { ...state, value, readAt };
      return seen;
    },

    takeProbe: ({ version }: ClientSecret) => takeSecretProbe(db, version),

    /**
     * Imports `CLIENT_SECRET`, unless this value was ever stored before: a restart with an old one never brings it
     * back. The tokens of older ones fall due in the job `spread-secret`: a start does not wait for a million of them.
     */
    async importOnce(value: Secret): Promise<boolean> {
      scrubber.hide(value);
      const added = await addSecret(db, seal(value), (stored) => stored.some((each) => isOf(value, each)));
      return added !== null;
    },

    /** Makes a value current, even if it was stored before. Returns the version and how many tokens are due now. */
    async set(value: Secret): Promise<{ version: number; due: number }> {
      scrubber.hide(value);
      const version = (await addSecret(db, seal(value), () => false))!;
      seen = null;
      await spread();
      return { version, due: (await countStale(db, version)).stale };
    },

    spread,
  };
}

/**
 * Judges an answer about a person's pair. That the client of `OAUTH_CLIENT_ID` is rejected is a fault of the settings,
 * so may be a 401 without a word of RFC 6749: after these the pair is tried again.
 */
export function judgePersons(log: Log, answer: TokenAnswer): Exclude<JudgedAnswer, "client_rejected"> {
  if (answer.outcome !== "client_rejected") return answer as Exclude<JudgedAnswer, "client_rejected">;
  log.error(
    { alarm: "oauth_client_rejected" },
    "The platform rejects the OAuth client of people: nobody can sign in",
  );
  return { ...answer, outcome: "unauthorized" };
}
