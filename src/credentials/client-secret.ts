import type { Database } from "../database/database.ts";
import { Misconfigured } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Scrubber } from "../logging/scrubber.ts";
import type { Secret } from "../secret.ts";
import { keyIdOf, type Vault } from "../vault/vault.ts";
import {
  acceptSecret,
  addSecret,
  makeOlderTokensDue,
  readClientSecret,
  rejectSecret,
  takeProbe,
  unspreadSecret,
} from "./secret-store.ts";

/** A client secret, as all processes see it. */
export interface ClientSecret {
  /** The version of the partner's; 0 for the one that people sign in with. */
  version: number;
  value: Secret;
  /** Whether the platform refused it, as far as any process knows; at most 5 seconds old. */
  isRejected: boolean;
  /** Rejected, but only as it seems: several credentials were refused, and the platform did not say why. */
  isPresumed: boolean;
}

/**
 * An OAuth client of ours at the platform: its secret, and whether the platform accepts it. A rejection is a fact about
 * the secret, never about a token: it stops the calls, except for one probe a minute, and ends as soon as one is
 * accepted.
 */
export interface OAuthClient {
  /** The current secret. Throws {@link Misconfigured} if there is none. */
  current(): Promise<ClientSecret>;
  /** The same without a query; null: it was not read within the last 5 seconds, or this process changed it since. */
  cached(): ClientSecret | null;
  /** While it is rejected: whether the caller may make the one call a minute that probes it. */
  takeProbe(secret: ClientSecret): Promise<boolean>;
  rejected(secret: ClientSecret, how: { isPresumed: boolean }): Promise<void>;
  accepted(secret: ClientSecret): Promise<void>;
}

/** The partner's client, whose secret has versions: sealed in the database, so that all processes use the same one. */
export interface ClientSecrets extends OAuthClient {
  /**
   * Imports `CLIENT_SECRET`, unless this value was ever stored before: an old process must not bring a dead secret
   * back. Tokens that older secrets issued fall due later, in the job `spread-secret`: a start does not wait for a
   * million of them. Returns whether it was imported.
   */
  importOnce(value: Secret): Promise<boolean>;
  /** Makes a value current, even if it was stored before. Returns the version and how many tokens are due now. */
  set(value: Secret): Promise<{ version: number; due: number }>;
  /**
   * Makes the tokens of older secrets due, if a newer one was set and that is not done yet, or may have missed some.
   * Returns how many. Ends early when `signal` is aborted; the next sweep begins again.
   */
  spread(signal?: AbortSignal): Promise<number>;
}

const STALE_AFTER_MS = 5_000;
/** A process that still meets the rejection raises its alarm again after this time. */
const TOLD_AGAIN_AFTER_MS = 10 * 60_000;
const PROBE_EVERY_MS = 60_000;
/** The next pass over all tokens in this process, after one that missed none. */
const NEXT_PASS_AFTER_MS = 10_000;

/** What the sealed client secret of a version is bound to: the version stands in for a uuid. */
export function clientSecretSealContext(version: number) {
  return { table: "client_secrets", column: "sealed_secret", uuid: String(version) };
}

export function createClientSecrets({
  db,
  vault,
  scrubber,
  log,
}: {
  db: Database;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
}): ClientSecrets {
  let seen: (ClientSecret & { readAt: number }) | null = null;
  let toldAt = -Infinity;
  let passed = { version: 0, at: -Infinity };

  const cached = () => (seen && performance.now() - seen.readAt < STALE_AFTER_MS ? seen : null);
  const seal = (value: Secret) => (version: number) => ({
    sealed: vault.seal(clientSecretSealContext(version), value),
    hash: vault.hash(value),
  });

  async function current(): Promise<ClientSecret> {
    const recent = cached();
    if (recent) return recent;
    const readAt = performance.now();
    const row = await readClientSecret(db);
    if (!row)
      throw new Misconfigured(
        "No client secret is known. Set CLIENT_SECRET, or run: npm run --silent kit -- secret set",
      );
    const { sealedSecret, ...state } = row;
    let value = seen?.version === row.version ? seen.value : null;
    if (!value) {
      value = vault.open(clientSecretSealContext(row.version), sealedSecret);
      scrubber.hide(value);
    }
    seen = { ...state, value, readAt };
    return seen;
  }

  function isStored(value: Secret, { sealed, hash }: { sealed: Buffer; hash: Buffer }): boolean {
    const keyId = keyIdOf(sealed);
    return (
      keyId !== null && vault.keyIds.includes(keyId) && Buffer.compare(vault.hash(value, keyId), hash) === 0
    );
  }

  async function spread(signal?: AbortSignal): Promise<number> {
    const secret = await unspreadSecret(db);
    const isRecent = secret?.version === passed.version && performance.now() - passed.at < NEXT_PASS_AFTER_MS;
    if (!secret || isRecent) return 0;
    const at = performance.now();
    const { due, isWhole } = await makeOlderTokensDue(db, secret, signal);
    if (isWhole) passed = { version: secret.version, at };
    return due;
  }

  return {
    current,
    cached,
    spread,
    takeProbe: ({ version }) => takeProbe(db, version),

    async rejected({ version }, { isPresumed }) {
      const { isNews, isCurrent } = await rejectSecret(db, version, isPresumed);
      // Cleared only after the write: a read during it would have cached the old state.
      seen = null;
      // A newer version is stored already, and was not known here yet.
      if (!isCurrent) return;
      // Also if it is no news: the process that found it first may be a command on a terminal.
      if (!isNews && performance.now() - toldAt < TOLD_AGAIN_AFTER_MS) return;
      toldAt = performance.now();
      const what = isPresumed
        ? "The platform answers 401 for several resources and gives no reason: if the client secret was reset, run kit secret set with the new one"
        : "The platform rejects our client secret: run kit secret set with the new one";
      log.error({ alarm: "client_secret_rejected", version, isPresumed }, what);
    },

    async accepted({ version }) {
      if (seen && !seen.isRejected) return;
      const turned = await acceptSecret(db, version);
      seen = null;
      if (turned) log.info({ version }, "The platform accepts our client secret again");
    },

    async importOnce(value) {
      scrubber.hide(value);
      const version = await addSecret(db, seal(value), (all) =>
        all.some((stored) => isStored(value, stored)),
      );
      return version !== null;
    },

    async set(value) {
      scrubber.hide(value);
      const version = (await addSecret(db, seal(value), () => false))!;
      seen = null;
      return { version, due: await spread() };
    },
  };
}

/**
 * The client that people sign in with: `OAUTH_CLIENT_ID` and its secret. A rejected secret is a fault of the settings:
 * it raises one alarm, and each process probes it by itself.
 */
export function createPeopleClient({ id, secret: value }: { id: string; secret: Secret }, log: Log) {
  let state = { version: 0, value, isRejected: false, isPresumed: false };
  let probeAt = 0;
  const client: OAuthClient = {
    current: () => Promise.resolve(state),
    cached: () => state,
    takeProbe() {
      const isMine = performance.now() >= probeAt;
      if (isMine) probeAt = performance.now() + PROBE_EVERY_MS;
      return Promise.resolve(isMine);
    },
    rejected() {
      if (!state.isRejected)
        log.error(
          { alarm: "oauth_client_rejected" },
          "The platform rejects the OAuth client of people: nobody can sign in",
        );
      state = { ...state, isRejected: true };
      probeAt = performance.now() + PROBE_EVERY_MS;
      return Promise.resolve();
    },
    accepted() {
      if (state.isRejected) log.info("The platform accepts the OAuth client of people again");
      state = { ...state, isRejected: false };
      return Promise.resolve();
    },
  };
  return { id, ...client };
}

export type PeopleClient = ReturnType<typeof createPeopleClient>;
