import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { READS_WHOLE } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { countKeyUse, type KeyUse, registerKey, reseal } from "../vault/store.ts";
import { CannotDecrypt, clientSecretSealContext, keyIdOf, type Vault } from "../vault/vault.ts";
import { type Finding, fine, found } from "./doctor/finding.ts";
import { countSealed, storedSecrets, storeResealed } from "./store.ts";
import { counted, some } from "./wording.ts";
import type { How } from "./work-through.ts";

/** After this many rounds, rows that were locked in each round are left with their old key. */
const MOST_ROUNDS = 20;
const ROUND_PAUSE_MS = 500;

/**
 * Reseals every value with `ENCRYPTION_KEY`, also while the service runs. It can be stopped and started again at any time.
 * `unopened`: the errors of values that could not be decrypted; they stay as they are.
 */
export async function resealAll(ctx: Pick<Context, "db" | "vault">, { signal, onProgress }: How) {
  await retryWhileUnreachable(() => registerKey(ctx.db, ctx.vault));
  const total = await retryWhileUnreachable(() => countSealed(ctx.db), READS_WHOLE);
  let resealed = 0;
  for (let round = 1; ; round++) {
    const unopened: string[] = [];
    const onUnopened = ({ message }: Error) => unopened.push(message);
    let [passedOver, seen] = [0, 0];
    const onRows = (rows: number) => onProgress?.((seen += rows), Math.max(total, seen));
    resealed += await retryWhileUnreachable(() => resealSecrets(ctx, onUnopened));
    for (const table of ["resources", "credentials"] as const) {
      const result = await reseal(ctx, table, { signal, onRows, onUnopened });
      resealed += result.resealed;
      passedOver += result.passedOver;
    }
    if (passedOver === 0 || round === MOST_ROUNDS || signal.aborted) {
      const byKey = await retryWhileUnreachable(() => countKeyUse(ctx.db), READS_WHOLE);
      const isDone = unopened.length === 0 && isCurrentOnly(byKey, ctx.vault);
      return { report: { resealed, byKey }, unopened, isDone };
    }
    await sleep(ROUND_PAUSE_MS);
  }
}

async function resealSecrets(
  { db, vault }: Pick<Context, "db" | "vault">,
  onUnopened: (error: Error) => void,
) {
  let resealed = 0;
  for (const { version, sealedSecret } of await storedSecrets(db)) {
    if (keyIdOf(sealedSecret) === vault.keyId) continue;
    const context = clientSecretSealContext(version);
    try {
      const value = vault.open(context, sealedSecret);
      // The hash is keyed with the key that sealed the row, so both change together.
      const fresh = { sealedSecret: vault.seal(context, value), hash: vault.hash(value) };
      if (await storeResealed(db, version, sealedSecret, fresh)) resealed += 1;
    } catch (error) {
      if (!(error instanceof CannotDecrypt)) throw error;
      onUnopened(error);
    }
  }
  return resealed;
}

const isCurrentOnly = (byKey: readonly KeyUse[], { keyId }: Vault) =>
  byKey.every((use) => use.keyId === keyId);

type Keys = Pick<Context, "vault" | "config">;

/** ISO 8601, as far as it is known. */
export interface SinceWhen {
  /** When the last process ended that could decrypt with the keys that are missing. */
  missing?: string | undefined;
  /** When the present key first sealed something. */
  current?: string | undefined;
}

/** Which keys are in use, and whether an old one can be dropped: each sealed value names its key. */
export function keysInUse(
  byKey: readonly KeyUse[],
  { vault, config }: Keys,
  sinceWhen: (missing: readonly string[]) => SinceWhen = () => ({}),
): Finding {
  const listed = (uses: readonly KeyUse[]) =>
    uses.map(({ keyId, rows }) => `${keyId} (${counted(rows, "row")})`).join(", ");
  const missing = byKey.filter(({ keyId }) => !vault.keyIds.includes(keyId));
  const since = sinceWhen(missing.map(({ keyId }) => keyId));
  if (missing.length > 0)
    return found("key_missing", { keys: listed(missing) }, since.missing ? { since: since.missing } : {});
  const now = `ENCRYPTION_KEY (${vault.keyId}) seals ${counted(byKey.find(({ keyId }) => keyId === vault.keyId)?.rows ?? 0, "row")}`;
  if (!isCurrentOnly(byKey, vault))
    return found(
      "keys_old",
      { now, others: listed(byKey.filter(({ keyId }) => keyId !== vault.keyId)) },
      since.current ? { since: since.current } : {},
    );
  if (!config.decryptionKeys?.length) return fine(`${now}.`);
  return found("keys_unused", { now });
}

export function keysInWords(byKey: readonly KeyUse[], keys: Keys): string[] {
  const { message, fix } = keysInUse(byKey, keys);
  return fix === null ? [message] : [message, fix];
}

export function resealInWords(
  { report: { resealed, byKey }, unopened }: Awaited<ReturnType<typeof resealAll>>,
  keys: Keys,
): string {
  return [
    ...some(unopened, (message) => `✗ Left as it is: ${message}`),
    `${counted(resealed, "row")} resealed.`,
    ...keysInWords(byKey, keys),
  ].join("\n");
}
