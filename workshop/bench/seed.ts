import { randomUUID } from "node:crypto";
import { Secret } from "../../src/secret.ts";
import { createVault } from "../../src/vault/vault.ts";
import { ENCRYPTION_KEY } from "./bench.ts";
import type { Database } from "./databases.ts";
import { tokensOf } from "./provisions.ts";

const PAGE = 5_000;

const INSERT = `
  WITH born AS (
    INSERT INTO resources (uuid, plan, applied_plan, region, state, answer_status)
    SELECT uuid, 'basic', 'basic', 'us', 'provisioned', 200 FROM unnest($1::uuid[]) AS uuid
  )
  INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at,
    generation, secret_version)
  SELECT uuid, 'active', access, refresh, now(), now() + interval '8 hours',
    now() + interval '3 hours' + random() * interval '1 hour', 1, 1
  FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS i(uuid, access, refresh)`;

/**
 * Inserts resources with their first token pairs, sealed with `key` and due in three hours or more. Answers their
 * uuids.
 */
export async function seedTokens({ ask }: Database, count: number, key = ENCRYPTION_KEY): Promise<string[]> {
  const vault = await createVault({ encryptionKey: new Secret(key) });
  const seal = (column: string, of: (uuid: string) => string) => (uuid: string) =>
    vault.seal({ table: "credentials", column, uuid }, of(uuid));
  const access = seal("sealed_access_token", (uuid) => tokensOf(uuid, 1).accessToken);
  const refresh = seal("sealed_refresh_token", (uuid) => tokensOf(uuid, 1).refreshToken);
  const all: string[] = [];
  while (all.length < count) {
    const uuids = Array.from({ length: Math.min(PAGE, count - all.length) }, () => randomUUID());
    await ask(INSERT, [uuids, uuids.map(access), uuids.map(refresh)]);
    all.push(...uuids);
  }
  await ask("ANALYZE");
  return all;
}

/**
 * Fills a database with resources that only take up space: none of them falls due, and their tokens, copies of a single
 * one, would not open. The database generates them itself, a million in less than a minute.
 */
export async function fill({ ask }: Database, count: number): Promise<void> {
  const vault = await createVault({ encryptionKey: new Secret(ENCRYPTION_KEY) });
  const place = { table: "credentials", column: "none", uuid: randomUUID() };
  const sealed = vault.seal(place, tokensOf(place.uuid, 1).accessToken);
  for (let done = 0; done < count; done += 50_000)
    await ask(
      `WITH born AS (
         INSERT INTO resources (uuid, plan, applied_plan, region, state, answer_status, created_at)
         SELECT gen_random_uuid(), 'basic', 'basic', 'us', 'provisioned', 200, now() - random() * interval '900 days'
         FROM generate_series(1, $1) RETURNING uuid
       )
       INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at,
         generation, secret_version)
       SELECT uuid, 'active', $2, $2, now(), now() + interval '8 hours',
         now() + interval '3 hours' + random() * interval '1 hour', 1, 1 FROM born`,
      [Math.min(50_000, count - done), sealed],
    );
  await ask("VACUUM ANALYZE");
  // If the role may not, the checkpoint happens during a measurement.
  await ask("CHECKPOINT").catch(() => undefined);
}
