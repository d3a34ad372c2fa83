import type { Sandbox } from "../../packages/sandbox/index.ts";
import { notYetSet, openConfig } from "../../src/resources/config-vars.ts";
import type { ResourceRow } from "../../src/resources/rows.ts";
import { Secret } from "../../src/secret.ts";
import { createVault, credentialSealContext } from "../../src/vault/vault.ts";
import type { Settings } from "./fleet.ts";

/** The sealed columns of a resource that has tokens. */
export interface Sealed {
  uuid: string;
  sealedAccessToken: Buffer | null;
  sealedConfig: Buffer | null;
}

/**
 * Opens the stored tokens with the newest key alone, and checks with the platform that each works (`dead`: does not)
 * and that its config vars are set (`unlike`: they differ).
 */
export async function tryStored(sandbox: Sandbox, settings: Settings, rows: readonly Sealed[]) {
  const vault = await createVault({ encryptionKey: new Secret(settings["ENCRYPTION_KEY"]!) });
  const dead: string[] = [];
  const unlike: string[] = [];
  for (const row of rows) await tryOne(row).catch((error: unknown) => dead.push(`${row.uuid}: ${String(error)}`));
  return { dead, unlike };

  async function tryOne(row: Sealed): Promise<void> {
    const { uuid, sealedAccessToken } = row;
    const token = vault.open(credentialSealContext("sealed_access_token", uuid), sealedAccessToken!).reveal();
    const response = await fetch(`${sandbox.url}/addons/${uuid}/config`, {
      headers: { Authorization: `Bearer ${token}`, Accept: sandbox.settings.mediaType },
    });
    if (response.status !== 200) return void dead.push(`${uuid}: its stored token is answered ${response.status}`);
    const theirs = (await response.json()) as { name: string; value: string | null }[];
    const missing = notYetSet(openConfig(vault, row as unknown as ResourceRow), theirs);
    if (missing.length > 0) unlike.push(`${uuid}: the platform has another ${missing.map(({ name }) => name).join(", ")}`);
  }
} // prettier-ignore
