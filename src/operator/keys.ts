import { setTimeout as sleep } from "node:timers/promises";
import type { Database, Queryable } from "../database/database.ts";
import { clientSecretSealContext } from "../credentials/client-secret.ts";
import { sealedSecrets, storeResealed } from "../credentials/secret-store.ts";
import { countKeyUse, createReseal, type KeyUse, registerKey, type ResealResult } from "../vault/store.ts";
import { KeyMissing, SealBroken } from "../vault/errors.ts";
import { keyIdOf, type Vault } from "../vault/vault.ts";
import { Interrupted } from "./errors.ts";
import type { OnProgress } from "./work-through.ts";
import { countRows } from "./store.ts";

export interface KeyReport {
  /** How many rows were resealed. */
  resealed: number;
  /** How many rows each key seals now. */
  byKey: KeyUse[];
}

/** Sealed values that could not be opened. */
export interface Unopened {
  count: number;
  /** For the first of them: which value, and why. */
  messages: string[];
}

/** What to do about older keys that still seal some rows; null if there are none. */
export function neededKeys({ byKey }: Pick<KeyReport, "byKey">, { keyId, keyIds }: Vault): string | null {
  const others = byKey.map((use) => use.keyId).filter((used) => used !== keyId);
  if (others.length === 0) return null;
  const missing = others.filter((used) => !keyIds.includes(used));
  return missing.length > 0
    ? `Put the old ${missing.length === 1 ? "key" : "keys"} ${missing.join(", ")} into DECRYPTION_KEYS, and reseal again.`
    : "Some rows still need an older key: keep it in DECRYPTION_KEYS, and reseal again.";
}

interface Needs {
  db: Database;
  vault: Vault;
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
}

const MOST_MESSAGES = 5;
/** After this many rounds, rows that were locked each time are left as they are. */
const MOST_ROUNDS = 20;
const ROUND_PAUSE_MS = 500;

const TABLES = ["resources", "credentials"] as const;
/**
 * Reseals everything with `ENCRYPTION_KEY`. It can run beside a running service, and be stopped and started again at
 * any time. A value that cannot be opened is left alone and reported in `unopened`. Throws {@link Interrupted} once
 * `signal` is aborted.
 */
export async function resealAll(needs: Needs): Promise<{ report: KeyReport; unopened: Unopened }> {
  const { db, vault, signal } = needs;
  await registerKey(db, vault);
  let resealed = 0;
  for (let round = 1; ; round++) {
    const unopened: Unopened = { count: 0, messages: [] };
    const result = await resealOnce(needs, {
      onProgress: (done, total) => round === 1 && needs.onProgress?.(done, total),
      onUnopened({ message }) {
        unopened.count += 1;
        if (unopened.messages.length < MOST_MESSAGES) unopened.messages.push(message);
      },
    });
    resealed += result.resealed;
    if (signal.aborted)
      throw new Interrupted("Stopped. What was resealed stays; the same command goes on from there.");
    if (result.passedOver === 0 || round === MOST_ROUNDS) {
      return { report: { resealed, byKey: await countKeyUse(db) }, unopened };
    }
    await sleep(ROUND_PAUSE_MS);
  }
}

type OnUnopened = (error: KeyMissing | SealBroken) => void;

async function resealOnce(
  { db, vault, signal }: Needs,
  { onProgress, onUnopened }: { onProgress: OnProgress; onUnopened: OnUnopened },
): Promise<ResealResult> {
  const sum = { resealed: await resealSecrets(db, vault, onUnopened), passedOver: 0 };
  const total = await countRows(db, "count_sealed", TABLES);
  let looked = 0;
  const onRows = (rows: number) => {
    looked += rows;
    onProgress(looked, Math.max(total, looked));
  };
  for (const table of TABLES) {
    const reseal = createReseal({ db, vault }, table);
    const { resealed, passedOver } = await reseal({ signal, onRows, onUnopened });
    sum.resealed += resealed;
    sum.passedOver += passedOver;
  }
  return sum;
}

async function resealSecrets(db: Queryable, vault: Vault, onUnopened: OnUnopened): Promise<number> {
  let resealed = 0;
  for (const { version, sealed } of await sealedSecrets(db)) {
    if (keyIdOf(sealed) === vault.keyId) continue;
    const context = clientSecretSealContext(version);
    try {
      const value = vault.open(context, sealed);
      const anew = { sealed: vault.seal(context, value), hash: vault.hash(value) };
      if (await storeResealed(db, { version, sealed }, anew)) resealed += 1;
    } catch (error) {
      if (!(error instanceof KeyMissing || error instanceof SealBroken)) throw error;
      onUnopened(error);
    }
  }
  return resealed;
}
