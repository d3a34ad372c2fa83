import { setTimeout as wait } from "node:timers/promises";
import { statement, type Queryable } from "../database/database.ts";
import { secretPlace } from "../resources/credentials/client-secrets.ts";
import { countKeyUse, registerKey, type KeyUse } from "../resources/keys.ts";
import { createReseal, type Unopened } from "../resources/reseal.ts";
import { KeyMissing, SealBroken } from "../vault/errors.ts";
import { keyIdOf, type Vault } from "../vault/vault.ts";
import { Interrupted } from "./errors.ts";
import type { OnProgress } from "./progress.ts";

export interface KeyReport {
  /** Rows that were sealed anew. */
  resealed: number;
  /** Which keys seal how many rows now. */
  byKey: KeyUse[];
}

interface Needs {
  db: Queryable;
  vault: Vault;
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

/** Rows that are busy are tried again this often. */
const MOST_ROUNDS = 20;
const ROUND_PAUSE_MS = 500;

const sizes = statement(
  "count_sealed_rows",
  `SELECT (SELECT count(*)::int FROM resources) + (SELECT count(*)::int FROM credentials) AS total`,
);
const allSecrets = statement(
  "read_all_client_secrets",
  `SELECT version, sealed_secret AS "sealed" FROM client_secrets ORDER BY version`,
);
// The hash is keyed with the key that sealed the row: both change together or not at all.
const storeSecret = statement(
  "reseal_client_secret",
  `UPDATE client_secrets SET sealed_secret = $3, hash = $4 WHERE version = $1 AND sealed_secret = $2 RETURNING version`,
);

/**
 * Seals everything with `ENCRYPTION_KEY`. It can be stopped and started again at any time, and beside a running service.
 * What does not open is left alone and answered in `unopened`. Throws {@link Interrupted} when `signal` says so.
 */
export async function resealAll(needs: Needs): Promise<{ report: KeyReport; unopened: Unopened[] }> {
  const { db, vault, signal } = needs;
  await registerKey(db, vault);
  const secrets = await resealSecrets(db, vault);
  const rows = await resealRows(needs);
  if (signal.aborted)
    throw new Interrupted("Stopped. What was resealed stays; the same command goes on from there.");
  return {
    report: { resealed: secrets.resealed + rows.resealed, byKey: await countKeyUse(db) },
    unopened: [...secrets.unopened, ...rows.unopened],
  };
}

async function resealRows(needs: Needs): Promise<{ resealed: number; unopened: Unopened[] }> {
  const tables = [createReseal(needs, "resources"), createReseal(needs, "credentials")];
  const [counted] = await needs.db.query<{ total: number }>(sizes);
  let resealed = 0;
  for (let round = 1; ; round++) {
    const unopened: Unopened[] = [];
    let looked = 0;
    let passedOver = 0;
    for (const reseal of tables) {
      const result = await reseal(needs.signal, (rows) => {
        looked += rows;
        if (round === 1) needs.onProgress?.(looked, Math.max(counted?.total ?? 0, looked));
      });
      resealed += result.resealed;
      passedOver += result.passedOver;
      unopened.push(...result.unopened);
    }
    if (passedOver === 0 || round === MOST_ROUNDS || needs.signal.aborted) return { resealed, unopened };
    await wait(ROUND_PAUSE_MS);
  }
}

async function resealSecrets(
  db: Queryable,
  vault: Vault,
): Promise<{ resealed: number; unopened: Unopened[] }> {
  const unopened: Unopened[] = [];
  let resealed = 0;
  for (const { version, sealed } of await db.query<{ version: number; sealed: Buffer }>(allSecrets)) {
    if (keyIdOf(sealed) === vault.keyId) continue;
    const place = secretPlace(version);
    try {
      const value = vault.open(place, sealed);
      const values = [version, sealed, vault.seal(place, value), vault.hash(value)];
      resealed += (await db.query(storeSecret, values)).length;
    } catch (error) {
      if (!(error instanceof KeyMissing || error instanceof SealBroken)) throw error;
      unopened.push({ place: `client_secrets.sealed_secret of version ${version}`, error });
    }
  }
  return { resealed, unopened };
}
