import { statement, type Database, type Queryable } from "../database/database.ts";
import { Misconfigured } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Scrubber } from "../logging/scrubber.ts";
import type { Secret } from "../secret.ts";
import type { SpreadSecret } from "./secret-spread.ts";
import { keyIdOf, type Vault } from "../vault/vault.ts";

/** The client secret of one version, as all processes see it. */
export interface ClientSecret {
  version: number;
  value: Secret;
  /** Whether the platform refused this version, as far as any process knows; at most 5 seconds old. */
  isRejected: boolean;
  /** Rejected, but only as it seems: several resources were refused, and the platform did not say why. */
  isPresumed: boolean;
}

/**
 * The client secret's versions, kept sealed in the database so that all processes use the same one within seconds. A
 * rejection by the platform is a fact about the version, never about a resource's tokens: it stops the calls of all
 * processes, except for one probe a minute, and ends as soon as a probe is accepted.
 */
export interface ClientSecrets {
  /** The current version; the highest. Throws {@link Misconfigured} if there is none. */
  current(): Promise<ClientSecret>;
  /** The same without a query; null: it was not read within the last 5 seconds, or this process changed it since. */
  cached(): ClientSecret | null;
  /** While a version is rejected: whether the caller may make the one call a minute that probes it. */
  takeProbe(secret: ClientSecret): Promise<boolean>;
  rejected(secret: ClientSecret, how: { isPresumed: boolean }): Promise<void>;
  accepted(secret: ClientSecret): Promise<void>;
  /**
   * Imports `CLIENT_SECRET`, unless this value was ever stored before: an old process must not bring a dead secret
   * back. Tokens that older secrets issued fall due later, in the job `spread-secret`: a start does not wait for a
   * million of them. Returns whether it was imported.
   */
  importOnce(value: Secret): Promise<boolean>;
  /**
   * Makes a value the current version, even if it was stored before. Returns the version and how many tokens are now
   * due.
   */
  set(value: Secret): Promise<{ version: number; due: number }>;
}

const STALE_AFTER_MS = 5_000;
/** A process that still meets the rejection raises its alarm again after this time. */
const TOLD_AGAIN_AFTER_MS = 10 * 60_000;

const readCurrent = statement(
  "read_client_secret",
  `SELECT version, sealed_secret AS "sealedSecret", rejected_at IS NOT NULL AS "isRejected",
     rejected_at IS NOT NULL AND is_presumed AS "isPresumed"
   FROM client_secrets ORDER BY version DESC LIMIT 1`,
);
const takeProbe = statement(
  "take_secret_probe",
  `UPDATE client_secrets SET probe_at = now() + interval '60 seconds'
   WHERE version = $1 AND rejected_at IS NOT NULL AND probe_at <= now() RETURNING version`,
);
const reject = statement(
  "reject_client_secret",
  `WITH turned AS (
     UPDATE client_secrets SET rejected_at = now(), is_presumed = $2,
       probe_at = now() + CASE WHEN $2 THEN interval '0' ELSE interval '60 seconds' END
     WHERE version = $1 AND (rejected_at IS NULL OR (is_presumed AND NOT $2::bool)) RETURNING version
   )
   SELECT EXISTS (SELECT 1 FROM turned) AS "isNews", max(version) = $1 AS "isCurrent" FROM client_secrets`,
);
const accept = statement(
  "accept_client_secret",
  `UPDATE client_secrets SET rejected_at = NULL, is_presumed = false, probe_at = NULL WHERE version = $1 AND rejected_at IS NOT NULL RETURNING version`,
);
const readAll = statement(
  "read_client_secret_hashes",
  `SELECT version, sealed_secret AS "sealedSecret", hash FROM client_secrets`,
);
const readSealed = statement(
  "read_sealed_client_secrets",
  `SELECT version, sealed_secret AS "sealed" FROM client_secrets ORDER BY version`,
);
const lock = statement("lock_client_secrets", `LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`);
const nextVersion = statement(
  "next_secret_version",
  `SELECT nextval(pg_get_serial_sequence('client_secrets', 'version'))::int AS version`,
);
// Grants that wait for another try with an older secret do not have to: some have seconds left. One that was never
// tried waits for the answer to its provision request.
const wakeGrants = statement(
  "wake_refused_grants",
  `UPDATE credentials SET due_at = now() WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND due_at > now() FOR UPDATE SKIP LOCKED))`,
);
const insert = statement(
  "insert_client_secret",
  `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES ($1, $2, $3)`,
);
export function createClientSecrets({
  db,
  spread,
  vault,
  scrubber,
  log,
}: {
  db: Database;
  spread: SpreadSecret;
  vault: Vault;
  scrubber: Scrubber;
  log: Log;
}): ClientSecrets {
  let seen: (ClientSecret & { readAt: number }) | null = null;
  let toldAt = -Infinity;

  const cached = () => (seen && performance.now() - seen.readAt < STALE_AFTER_MS ? seen : null);

  async function current(): Promise<ClientSecret> {
    const recent = cached();
    if (recent) return recent;
    const readAt = performance.now();
    const [row] = await db.query<Omit<ClientSecret, "value"> & { sealedSecret: Buffer }>(readCurrent);
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

  async function add(tx: Queryable, value: Secret): Promise<number> {
    const { version } = (await tx.query<{ version: number }>(nextVersion, []))[0]!;
    await tx.query(insert, [version, vault.seal(clientSecretSealContext(version), value), vault.hash(value)]);
    await tx.query(wakeGrants);
    return version;
  }

  return {
    current,
    cached,

    takeProbe: async ({ version }) => (await db.query(takeProbe, [version])).length > 0,

    async rejected({ version }, { isPresumed }) {
      const [told] = await db.query<{ isNews: boolean; isCurrent: boolean }>(reject, [version, isPresumed]);
      // Cleared only after the write: a read during it would have cached the old state.
      seen = null;
      // A newer version is stored already, and was not known here yet.
      if (!told?.isCurrent) return;
      // Also if it is no news: the process that found it first may be a command on a terminal, and the rejection may
      // last.
      if (told.isNews || performance.now() - toldAt > TOLD_AGAIN_AFTER_MS) {
        toldAt = performance.now();
        log.error(
          { alarm: "client_secret_rejected", version, isPresumed },
          isPresumed
            ? "The platform answers 401 for several resources and gives no reason: if the client secret was reset, run kit secret set with the new one"
            : "The platform rejects our client secret: run kit secret set with the new one",
        );
      }
    },

    async accepted({ version }) {
      if (seen && !seen.isRejected) return;
      const [turned] = await db.query(accept, [version]);
      seen = null;
      if (turned) log.info({ version }, "The platform accepts our client secret again");
    },

    async importOnce(value) {
      scrubber.hide(value);
      return db.transaction(async (tx) => {
        await tx.query(lock, []);
        const versions = await tx.query<{ sealedSecret: Buffer; hash: Buffer }>(readAll, []);
        const isKnown = versions.some(({ sealedSecret, hash }) => {
          const keyId = keyIdOf(sealedSecret);
          return (
            keyId !== null &&
            vault.keyIds.includes(keyId) &&
            Buffer.compare(vault.hash(value, keyId), hash) === 0
          );
        });
        if (isKnown) return false;
        await add(tx, value);
        return true;
      });
    },

    async set(value) {
      scrubber.hide(value);
      const version = await db.transaction(async (tx) => {
        await tx.query(lock, []);
        return add(tx, value);
      });
      seen = null;
      return { version, due: await spread() };
    },
  };
}

/** Every client secret as it is sealed, the oldest first, whether it opens or not. */
export function sealedSecrets(db: Queryable): Promise<{ version: number; sealed: Buffer }[]> {
  return db.query(readSealed);
}

/** What the sealed client secret of a version is bound to: the version stands in for a uuid. */
export function clientSecretSealContext(version: number) {
  return { table: "client_secrets", column: "sealed_secret", uuid: String(version) };
}
