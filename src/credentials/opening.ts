import type { Log } from "../logging/log.ts";
import type { Secret } from "../secret.ts";
import { KeyMissing, SealBroken } from "../vault/errors.ts";
import type { SealContext, Vault } from "../vault/vault.ts";
import type { CredentialStore } from "./store.ts";

type SecretColumn = "sealed_grant_code" | "sealed_access_token" | "sealed_refresh_token";

/** What a credential's sealed secret is bound to. */
export function credentialSealContext(column: SecretColumn, uuid: string): SealContext {
  return { table: "credentials", column, uuid };
}

/**
 * Opens what a credential row holds, or quarantines the row: a secret that does not open was changed, moved from
 * another row, or needs a key we lack. None of these says that the platform revoked anything, so nothing is erased.
 */
export function createOpening({ vault, store, log }: { vault: Vault; store: CredentialStore; log: Log }) {
  return {
    /**
     * The secret. Null: it does not open, and the row was quarantined, unless it holds another one by now. With a
     * lease, only its holder quarantines the row.
     */
    async open(
      row: { uuid: string; lease?: number },
      column: SecretColumn,
      sealed: Uint8Array | null,
    ): Promise<Secret | null> {
      try {
        if (!sealed) throw new SealBroken(`credentials.${column} of ${row.uuid}, which is empty,`);
        return vault.open(credentialSealContext(column, row.uuid), sealed);
      } catch (error) {
        if (!(error instanceof SealBroken || error instanceof KeyMissing)) throw error;
        if (await store.quarantine(row, sealed, error.id)) {
          log.error(
            { alarm: "quarantined", uuid: row.uuid, error },
            "A credential does not open and was put aside",
          );
        }
        return null;
      }
    },

    /** Reopens what was quarantined for a missing key that is in the ring now. */
    async reopen(): Promise<void> {
      for (let uuids = await store.reopen(vault.keyIds); uuids.length > 0;) {
        for (const uuid of uuids) log.info({ uuid }, "A credential's key is back; it is in use again");
        uuids = await store.reopen(vault.keyIds);
      }
    },
  };
}

export type Opening = ReturnType<typeof createOpening>;
