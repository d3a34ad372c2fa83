import type { Log } from "../../logging/log.ts";
import type { Secret } from "../../secret.ts";
import { KeyMissing, SealBroken } from "../../vault/errors.ts";
import type { Vault } from "../../vault/vault.ts";
import { personSealContext, type TokenColumn } from "./seal-context.ts";
import type { TokenStore } from "./store.ts";

/**
 * Opens a person's tokens, or quarantines them and returns null: a seal that does not open says nothing about whether
 * the platform accepts the token.
 */
export function createOpening({ vault, store, log }: { vault: Vault; store: TokenStore; log: Log }) {
  return {
    async open(uuid: string, column: TokenColumn, sealed: Uint8Array): Promise<Secret | null> {
      try {
        return vault.open(personSealContext(column, uuid), sealed);
      } catch (error) {
        if (!(error instanceof SealBroken || error instanceof KeyMissing)) throw error;
        if (await store.quarantine(uuid, sealed, error.id))
          log.error(
            { alarm: "quarantined", person: uuid, error },
            "A person's tokens do not open and were put aside",
          );
        return null;
      }
    },
    /** Restores what was quarantined because its key was missing, when the key is in the ring again. */
    async reopen(): Promise<void> {
      for (const person of await store.reopen(vault.keyIds))
        log.info({ person }, "The key of a person's tokens is back; they are in use again");
    },
  };
}

export type Opening = ReturnType<typeof createOpening>;
