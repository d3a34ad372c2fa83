import { randomUUID } from "node:crypto";
import { build } from "../../src/version.ts";
import type { World } from "../support/world.ts";

interface Row {
  role?: string;
  pid?: number;
  state?: string;
  version?: string;
  commit?: string;
  keyId?: string;
  keyIds?: string[];
  /** Seconds ago. */
  beat?: number;
  steady?: number;
  started?: number;
  why?: string;
}

/** A process that does not exist, as another one would see its row. */
export async function aRow(world: Pick<World, "rows">, about: Row = {}): Promise<number> {
  const { role = "web", pid = 1 + Math.floor(Math.random() * 1e6), state = "ready" } = about;
  const {
    version = build.version,
    commit = build.commit,
    beat = 0,
    steady = 600,
    started = 7_200,
    why = null,
  } = about;
  const [own] = await world.rows<{ key_id: string }>(`SELECT key_id FROM sealing_keys LIMIT 1`);
  const { keyId = own!.key_id, keyIds = [own!.key_id, keyId] } = about;
  await world.rows(
    `INSERT INTO processes (id, role, host, pid, version, commit, node, key_id, key_ids, state, why, beat_at, steady_since, started_at)
     VALUES ($1, $2, 'elsewhere', $3, $4, $5, '20.19.0', $6, $7, $8, $9, now() - make_interval(secs => $10),
       now() - make_interval(secs => $11), now() - make_interval(secs => $12))`,
    [randomUUID(), role, pid, version, commit, keyId, keyIds, state, why, beat, steady, started],
  );
  return pid;
}
