import type { Database, Queryable } from "../database/database.ts";
import { clientSecretSealContext } from "../credentials/client-secret.ts";
import { deleteSecrets, sealedSecrets } from "../credentials/secret-store.ts";
import { checkKeys, countKeyUse, registerKey } from "../vault/store.ts";
import { KeyMissing, SealBroken } from "../vault/errors.ts";
import { keyIdOf, type Vault } from "../vault/vault.ts";

/** A version of the client secret that cannot be opened: it is damaged, or its key is not in the ring. */
export interface UnopenedSecret {
  version: number;
  /** The key that sealed it; null if it no longer has the format of a sealed value. */
  keyId: string | null;
}

export async function unopenedSecrets(db: Queryable, vault: Vault): Promise<UnopenedSecret[]> {
  const rows = await sealedSecrets(db);
  return rows
    .filter(({ version, sealed }) => !opens(vault, version, sealed))
    .map(({ version, sealed }) => ({ version, keyId: keyIdOf(sealed) }));
}

/**
 * Deletes versions that cannot be opened: they are of no use, and a service without their key would refuse to start.
 */
export async function forgetSecrets(db: Queryable, secrets: readonly UnopenedSecret[]): Promise<void> {
  await deleteSecrets(
    db,
    secrets.map(({ version }) => version),
  );
}

/**
 * The start-up check of the keys, for the command that sets a new client secret: the old ones need not open. Throws
 * `Misconfigured` if a key is missing that sealed anything else.
 */
export async function checkOtherKeys(db: Database, vault: Vault): Promise<void> {
  const unopened = await unopenedSecrets(db, vault);
  if (unopened.length === 0) return checkKeys(db, vault);
  const secretsOf = (wanted: string) => unopened.filter(({ keyId }) => keyId === wanted).length;
  const missing = (await countKeyUse(db)).filter(({ keyId }) => !vault.keyIds.includes(keyId));
  if (missing.some(({ keyId, rows }) => rows > secretsOf(keyId))) return checkKeys(db, vault);
  await registerKey(db, vault);
}

function opens(vault: Vault, version: number, sealed: Buffer): boolean {
  try {
    vault.open(clientSecretSealContext(version), sealed);
    return true;
  } catch (error) {
    if (error instanceof SealBroken || error instanceof KeyMissing) return false;
    throw error;
  }
}
