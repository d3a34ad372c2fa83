import type { Database } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { Misconfigured } from "../errors.ts";
import type { Wake } from "../jobs/run.ts";
import type { Log } from "../logging/log.ts";
import type { Failure, TokenAnswer } from "../platform/oauth.ts";
import type { Scrubber, Secret } from "../secret.ts";
import { clientSecretSealContext, keyIdOf, type Vault } from "../vault/vault.ts";
import {
  acceptSecret,
  addSecret,
  countStale,
  makeOlderTokensDue,
  type Pass,
  readClientSecret,
  rejectSecret,
  type StoredSecret,
  takeSecretProbe,
} from "./client-secret-store.ts";
import { AROUND_CALL, type ClaimedCredential } from "./queue.ts";
import type { Tries } from "./states.ts";

/**
 * The platform's client secret of this add-on. Its rejection says nothing about a token, so no token call is sent until
 * the secret is accepted, except one probe a minute.
 */
export interface ClientSecret {
  version: number;
  value: Secret;
  /** Whether the platform rejected the secret in any process. At most 5 seconds old. */
  isRejected: boolean;
  /** The rejection is presumed: two credentials were refused without a reason. */
  isPresumed: boolean;
}

/** An answer after `judge`: a 401 is attributed to the secret or to the token. */
export type JudgedAnswer = Extract<TokenAnswer, { outcome: "issued" }> | Failure | "client_rejected";

type Refused = Tries & Pick<ClaimedCredential, "uuid" | "claimedAtMs">;

/**
 * Whether calls must wait because the secret is rejected. A presumed rejection stops refreshes, which have hours, but not
 * exchanges of grants, which have minutes.
 */
export const mustWait = ({ isRejected, isPresumed }: ClientSecret, isGrant: boolean): boolean =>
  isRejected && !(isPresumed && isGrant);

const STALE_AFTER_MS = 5_000;
/** Two credentials refused without a reason within this time, with no success between, presume the secret rejected. */
const TOGETHER_MS = 60_000;

/** A part of `Context`. Not `Context` itself, because it contains the client secrets. */
export interface Needs {
  db: Database;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
  wake: Pick<Wake, "refreshTokens">;
}

/** The versions of the client secret. They are sealed in the database, so that all processes use the same secret. */
export function createClientSecrets({ db, vault, scrubber, log, wake }: Needs) {
  let seen: (ClientSecret & { readAt: number }) | null = null;
  /** Counts the changes that this process has stored: a read that began before one is not kept. */
  let changes = 0;
  let suspect: { uuid: string; version: number; atMs: number } | null = null;
  let succeededAtMs = -Infinity;
  /** The version whose rejection this process has reported. */
  let reported: number | null = null;
  /** Kept from one run of the job to the next: among millions of tokens it takes longer than a run. */
  let pass: Pass | null = null;

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
    const made = await makeOlderTokensDue(db, pass, signal);
    pass = made.pass;
    const { due } = made;
    if (due > 0) wake.refreshTokens();
    return due;
  }

  function noteChange(): void {
    seen = null;
    changes += 1;
  }

  const cached = () => (seen && performance.now() - seen.readAt < STALE_AFTER_MS ? seen : null);

  async function rejected({ version }: ClientSecret, isPresumed: boolean): Promise<void> {
    const { isNews, isCurrent } = await retryWhileUnreachable(
      () => rejectSecret(db, version, isPresumed),
      AROUND_CALL,
    );
    noteChange();
    // Reported once by each process even if the rejection is stored already: a command on a terminal may have stored it, or
    // an attempt of this process whose acknowledgement was lost.
    if (!isCurrent || (!isNews && reported === version)) return;
    reported = version;
    const what = isPresumed
      ? "The platform answers 401 for several resources without a reason. If the client secret was reset, run kit secret set with the new one"
      : "The platform rejects the client secret. Run kit secret set with the new one";
    log.error({ alarm: "client_secret_rejected", version, isPresumed }, what);
  }

  async function accepted({ version }: ClientSecret): Promise<void> {
    suspect = reported = null;
    succeededAtMs = performance.now();
    if (seen && !seen.isRejected) return;
    const turned = await retryWhileUnreachable(() => acceptSecret(db, version), AROUND_CALL);
    noteChange();
    if (turned) log.info({ version }, "The platform accepts the client secret again");
  }

  /**
   * Notes a refusal without a reason. Returns `true` if another credential was refused so within a minute, with no success
   * between: the secret is then presumed rejected. A row that was first refused before the last success does not count,
   * because that success shows that the row itself was the cause.
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
     * Stores what an answer says about the secret. Success is not stored here, because the caller stores the tokens
     * first. A 401 without an error code of RFC 6749 counts against the row's own code or token, until {@link isSecond}
     * (assumed, section 3).
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
      const fresh = cached();
      if (fresh) return fresh;
      const readAt = performance.now();
      const changesBefore = changes;
      const row = await readClientSecret(db);
      if (!row)
        throw new Misconfigured(
          "No client secret is stored. Set CLIENT_SECRET, or run: npm run --silent kit -- secret set",
        );
      const { sealedSecret, ...state } = row;
      const context = clientSecretSealContext(row.version);
      const value = seen?.version === row.version ? seen.value : vault.open(context, sealedSecret);
      scrubber.hide(value);
      const read = { ...state, value, readAt };
      if (changes === changesBefore) seen = read;
      return read;
    },

    takeProbe: ({ version }: ClientSecret) => takeSecretProbe(db, version),

    /**
     * Imports `CLIENT_SECRET` unless the value was stored at any time, so that a restart with an old value does not make it
     * current again. The job `spread-secret` makes the tokens of older secrets due; doing it here would delay the start.
     */
    async importOnce(value: Secret): Promise<boolean> {
      scrubber.hide(value);
      const added = await addSecret(db, seal(value), (stored) => stored.some((each) => isOf(value, each)));
      return added !== null;
    },

    /** Makes a value current, even if it was stored before. Returns the version and the number of tokens due now. */
    async set(value: Secret): Promise<{ version: number; due: number }> {
      scrubber.hide(value);
      const version = (await addSecret(db, seal(value), () => false))!;
      noteChange();
      // Counted meanwhile: a service refreshes some of them at once.
      const [{ stale: due }] = await Promise.all([countStale(db, version), spread()]);
      return { version, due };
    },

    spread,
  };
}

/**
 * Judges an answer about a person's token pair. A rejected client `OAUTH_CLIENT_ID` is a fault of the settings, and a 401
 * without an error code of RFC 6749 may be one. The pair is kept and retried after both.
 */
export function judgePersons(log: Log, answer: TokenAnswer): Exclude<JudgedAnswer, "client_rejected"> {
  if (answer.outcome !== "client_rejected") return answer as Exclude<JudgedAnswer, "client_rejected">;
  log.error(
    { alarm: "oauth_client_rejected" },
    "The platform rejects OAUTH_CLIENT_ID with OAUTH_CLIENT_SECRET: people cannot sign in. Correct the settings",
  );
  return { ...answer, outcome: "unauthorized" };
}
