import type { Queryable } from "../database/statement.ts";
import type { Log } from "../logging/log.ts";
import type { Secret } from "../secret.ts";
import { CannotDecrypt, credentialSealContext, type Vault } from "../vault/vault.ts";
import { type Judged, settle } from "./queue.ts";
import type { Owner, State } from "./states.ts";
import { reopenSome } from "./store.ts";

type Needs = { db: Queryable; vault: Vault; log: Log };

/**
 * Decrypts a value of a credential. Returns `null` if the value cannot be decrypted; the row is then quarantined unless it
 * has changed since. The values are kept: a failed decryption does not mean that the platform revoked them.
 */
export async function openSealed(
  { db, vault, log }: Needs,
  row: Judged & { owner: Owner },
  column: Parameters<typeof credentialSealContext>[0],
  sealed: Uint8Array | null,
): Promise<Secret | null> {
  const { uuid, owner } = row;
  try {
    return vault.open(credentialSealContext(column, uuid, owner), sealed ?? new Uint8Array());
  } catch (error) {
    if (!(error instanceof CannotDecrypt)) throw error;
    const verdict = { on: "cannot be decrypted", reason: error.id, againInSeconds: null } as const;
    if (row.state !== "quarantined" && (await settle(db, row, verdict)))
      log.error(
        { alarm: "quarantined", ...named(row), error },
        "Credential quarantined: it cannot be decrypted",
      );
    return null;
  }
}

/** Reopens some of the rows that were quarantined for a missing key, if the key is in the ring now. Returns how many. */
export async function reopenQuarantined({ db, vault, log }: Needs): Promise<number> {
  const rows = await reopenSome(db, vault.keyIds);
  for (const row of rows) log.info(named(row), "Credential reopened: its key is in the ring again");
  return rows.length;
}

type Named = { uuid: string; owner: Owner; state?: State; requestId?: string | null };

/** The members of a log line that identify a credential. */
export function named({ uuid, owner, state, requestId }: Named) {
  if (owner === "person") return { person: uuid };
  return state === "grant_pending" ? { uuid, requestId } : { uuid };
}
