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

/** So many rows are inserted without indexes, which are then made at once: each costs a lookup in every index. */
const MANY = 500_000;

interface Index {
  table: string;
  name: string;
  definition: string;
  /** Of a primary key. */
  key: string | null;
}

const INDEXES = `
  SELECT indrelid::regclass::text AS table, indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition,
    (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conindid = indexrelid) AS key
  FROM pg_index WHERE indrelid IN ('resources'::regclass, 'credentials'::regclass)`;

/**
 * Fills a database with resources that only take up space: none of them falls due, and their tokens, copies of a single
 * one, would not open. The database generates them itself, a million in less than half a minute.
 */
export async function fill({ ask }: Database, count: number): Promise<void> {
  const vault = await createVault({ encryptionKey: new Secret(ENCRYPTION_KEY) });
  const place = { table: "credentials", column: "none", uuid: randomUUID() };
  const sealed = vault.seal(place, tokensOf(place.uuid, 1).accessToken);
  const indexes = count < MANY ? [] : await ask<Index>(INDEXES);
  for (const { table, name, key } of indexes)
    await ask(key ? `ALTER TABLE ${table} DROP CONSTRAINT ${name}` : `DROP INDEX ${name}`);
  for (let done = 0; done < count; done += 50_000)
    await ask(
      `WITH born AS (
         INSERT INTO resources (uuid, name, plan, applied_plan, region, state, answer_status, created_at)
         SELECT gen_random_uuid(), 'teapots-' || n, 'basic', 'basic', 'us', 'provisioned', 200,
           now() - random() * interval '900 days'
         FROM generate_series($3::int + 1, $3::int + $1::int) n RETURNING uuid
       )
       INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at,
         generation, secret_version)
       SELECT uuid, 'active', $2, $2, now(), now() + interval '8 hours',
         now() + interval '3 hours' + random() * interval '1 hour', 1, 1 FROM born`,
      [Math.min(50_000, count - done), sealed, done],
    );
  await ask("SET maintenance_work_mem = '512MB'");
  for (const { table, name, definition, key } of indexes)
    await ask(key ? `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${key}` : definition);
  await ask("VACUUM ANALYZE");
  // If the role may not, the checkpoint happens during a measurement.
  await ask("CHECKPOINT").catch(() => undefined);
}
