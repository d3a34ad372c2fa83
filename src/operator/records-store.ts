import { statement, type Queryable } from "../database/database.ts";
import { whereGone } from "../ledgers/store.ts";
import type { ResourceState } from "../resources/states.ts";
import { keyIdInSql } from "../vault/vault.ts";

// What operators see of resources. Not through Prisma, which takes 100 MB of memory: too much for an export of all.

export interface RecordRow {
  uuid: string;
  name: string | null;
  plan: string;
  region: string | null;
  state: ResourceState;
  appId: string | null;
  appName: string | null;
  createdAt: Date;
  updatedAt: Date;
  /** The state of its credential, and what else is its credential's. */
  credential: string;
  reason: string | null;
  generation: number;
  expiresAt: Date | null;
  dueAt: Date | null;
  lastError: string | null;
  secretVersion: number | null;
  keyId: string | null;
  flags: string[];
  /** The platform no longer has it. */
  isGone: boolean;
}

// Each resource has a credential: it is inserted in one statement with it, and never deleted.
const records = statement(
  "records_of",
  `SELECT r.uuid, r.name, r.plan, r.region, r.state, r.app_id AS "appId", r.app_name AS "appName",
     r.created_at AS "createdAt", r.updated_at AS "updatedAt", c.state AS credential, c.reason, c.generation,
     c.expires_at AS "expiresAt", c.due_at AS "dueAt", c.last_error AS "lastError", c.secret_version AS "secretVersion",
     ${keyIdInSql("coalesce(c.sealed_access_token, c.sealed_grant_code)")} AS "keyId", c.flags, ${whereGone("r.uuid")} AS "isGone"
   FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted(uuid, place)
   JOIN resources r USING (uuid) JOIN credentials c USING (uuid) ORDER BY wanted.place`,
);

/** In the order of the uuids. One that is not there is left out. */
export const readRecords = (db: Queryable, uuids: readonly string[]) => db.query<RecordRow>(records, [uuids]);

const written = statement(
  "is_written_by_request",
  `SELECT FROM credentials WHERE uuid = $1 AND request_id = $2`,
);

/** Whether the request wrote this resource, perhaps in a try of which the acknowledgement was lost. */
export const isWrittenBy = async (db: Queryable, uuid: string, requestId: string) =>
  (await db.query(written, [uuid, requestId])).length > 0;
