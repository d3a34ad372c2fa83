import type { Log } from "../../log.ts";
import type { Secret } from "../../secret.ts";
import { KeyMissing, SealBroken } from "../../vault/errors.ts";
import type { Place, Vault } from "../../vault/vault.ts";
import type { CredentialStore } from "./store.ts";

type SecretColumn = "sealed_grant_code" | "sealed_access_token" | "sealed_refresh_token";

/** Where a credential's secret is sealed. */
export function credentialPlace(column: SecretColumn, uuid: string): Place {
  return { table: "credentials", column, uuid };
}

/**
 * Opens what a credential row holds, or puts the row aside: what does not open was changed, moved from another row, or
 * needs a key we lack. None of these says that the platform revoked anything, so nothing is thrown away.
 */
export function createOpening({ vault, store, log }: { vault: Vault; store: CredentialStore; log: Log }) {
  return {
    /**
     * The secret, or null where it does not open: the row was put aside, unless it holds another by now. With a lease,
     * only its holder puts it aside.
     */
    async open(
      row: { uuid: string; lease?: number },
      column: SecretColumn,
      sealed: Uint8Array | null,
    ): Promise<Secret | null> {
      try {
        if (!sealed) throw new SealBroken(`credentials.${column} of ${row.uuid}, which is empty,`);
        return vault.open(credentialPlace(column, row.uuid), sealed);
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

    /** Takes back what was put aside for a key that is in the ring by now. */
    async reopen(): Promise<void> {
      for (let uuids = await store.reopen(vault.keyIds); uuids.length > 0;) {
        for (const uuid of uuids) log.info({ uuid }, "A credential's key is back; it is in use again");
        uuids = await store.reopen(vault.keyIds);
      }
    },
  };
}

export type Opening = ReturnType<typeof createOpening>;
