import type { Credential, Resource } from "../database/client/client.ts";
import { keyIdOf } from "../vault/vault.ts";

/** One add-on resource as operators see it, without secrets. Times are ISO 8601, UTC. */
export interface ResourceRecord {
  uuid: string;
  name: string | null;
  plan: string;
  region: string | null;
  state: string;
  credential: CredentialRecord;
  /** The primary app, as last seen. */
  app: { id: string; name: string } | null;
  createdAt: string;
  updatedAt: string;
}

export interface CredentialRecord {
  state: string;
  /** Why it is in a state that needs attention. */
  reason: string | null;
  /** How many token pairs were stored. */
  generation: number;
  expiresAt: string | null;
  refreshDueAt: string | null;
  lastError: string | null;
  /** The version of the client secret that issued the tokens. */
  secretVersion: number | null;
  /** The key that sealed the access token or, before there is one, the grant code. */
  keyId: string | null;
  /** What was odd about the platform's last token answer. */
  flags: string[];
}

export type StoredResource = Resource & { credential: Credential | null };

export function resourceRecord(stored: StoredResource): ResourceRecord {
  const { uuid, name, plan, region, state, appId, appName } = stored;
  return {
    ...{ uuid, name, plan, region, state },
    // Inserted in one statement with its resource, and never deleted.
    credential: credentialRecord(stored.credential!),
    app: appId === null ? null : { id: appId, name: appName ?? appId },
    createdAt: stored.createdAt.toISOString(),
    updatedAt: stored.updatedAt.toISOString(),
  };
}

function credentialRecord(stored: Credential): CredentialRecord {
  const { state, reason, generation, lastError, secretVersion, flags } = stored;
  const sealed = stored.sealedAccessToken ?? stored.sealedGrantCode;
  const hasTokens = state === "active" || state === "needs_reauth";
  return {
    ...{ state, reason, generation },
    expiresAt: isoOrNull(stored.expiresAt),
    refreshDueAt: hasTokens ? isoOrNull(stored.dueAt) : null,
    lastError,
    secretVersion,
    keyId: sealed && keyIdOf(sealed),
    flags,
  };
}

function isoOrNull(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
