import { Secret } from "../../src/secret.ts";
import { createVault, type Vault } from "../../src/vault/vault.ts";
import { ENCRYPTION_KEY, OTHER_KEY } from "./bench.ts";
import type { Database } from "./databases.ts";
import { codeOf, tokensOf } from "./provisions.ts";

// Compares what was answered with what is stored: rows are counted, and sealed values are opened with the key of the
// bench.

/** Something was answered but is not stored, or not correctly. */
export class Missing extends Error {}

interface Row {
  uuid: string;
  status: number | null;
  answer: Buffer | null;
  code: Buffer | null;
  access: Buffer | null;
  refresh: Buffer | null;
  generation: number;
}

const READ = `
  SELECT uuid, r.answer_status AS status, r.sealed_answer AS answer, c.sealed_grant_code AS code,
    c.sealed_access_token AS access, c.sealed_refresh_token AS refresh, c.generation
  FROM resources r JOIN credentials c USING (uuid)`;

/**
 * Checks that exactly the resources of `uuids` are stored, each with its answer, and with its grant or the tokens that
 * came of it. Throws {@link Missing}.
 */
export async function checkProvisions(
  { ask }: Pick<Database, "ask">,
  uuids: readonly string[],
  status: number,
): Promise<void> {
  const vault = await openVault([ENCRYPTION_KEY, OTHER_KEY]);
  // Rows of `fill`, which only take up space, have no answer.
  const rows = await ask<Row>(`${READ} WHERE r.sealed_answer IS NOT NULL`);
  expectAll(rows, uuids);
  for (const row of rows) {
    const { uuid } = row;
    const answer = opened(vault, "resources", "sealed_answer", uuid, row.answer);
    if (row.status !== status || !answer?.includes(uuid))
      throw new Missing(`The answer ${status} to ${uuid} is not stored`);
    if (row.code === null) expectTokens(vault, row);
    else if (opened(vault, "credentials", "sealed_grant_code", uuid, row.code) !== codeOf(uuid))
      throw new Missing(`The grant code of ${uuid} is not stored`);
  }
}

/**
 * Checks that the token pairs of `uuids` are stored and open with `keys`, each issued for its resource, each the
 * `generation`-th. Throws {@link Missing}.
 */
export async function checkTokens(
  { ask }: Pick<Database, "ask">,
  uuids: readonly string[],
  generation: number,
  keys: readonly string[] = [ENCRYPTION_KEY],
): Promise<void> {
  const [vault, rows] = [
    await openVault(keys),
    await ask<Row>(`${READ} WHERE uuid = ANY($1::uuid[])`, [uuids]),
  ];
  expectAll(rows, uuids);
  for (const row of rows) {
    expectTokens(vault, row);
    if (row.generation !== generation)
      throw new Missing(`${row.uuid} has token pair ${row.generation}, not ${generation}`);
  }
}

/** Throws {@link Missing} unless there is a row for every answered uuid, and for no other. */
export function expectAll(rows: readonly { uuid: string }[], answered: readonly string[]): void {
  const there = new Set(rows.map(({ uuid }) => uuid));
  const missing = answered.filter((uuid) => !there.has(uuid)).length;
  if (missing > 0) throw new Missing(`${missing} of ${answered.length} that were answered have no row`);
  if (there.size !== answered.length) throw new Missing(`${there.size} rows, but ${answered.length} answers`);
}

function openVault([key, ...others]: readonly string[]): Promise<Vault> {
  return createVault({
    encryptionKey: new Secret(key!),
    decryptionKeys: others.map((other) => new Secret(other)),
  });
}

function opened(
  vault: Vault,
  table: string,
  column: string,
  uuid: string,
  sealed: Buffer | null,
): string | null {
  return sealed && vault.open({ table, column, uuid }, sealed).reveal();
}

/** The bench's platform writes into a token its resource and the number of its pair. */
function expectTokens(vault: Vault, { uuid, access, refresh, generation }: Row): void {
  const issued = tokensOf(uuid, generation);
  if (
    opened(vault, "credentials", "sealed_access_token", uuid, access) !== issued.accessToken ||
    opened(vault, "credentials", "sealed_refresh_token", uuid, refresh) !== issued.refreshToken
  )
    throw new Missing(`Token pair ${generation} of ${uuid} is not stored`);
}
