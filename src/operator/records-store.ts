import type { Credential, Resource } from "../database/client/client.ts";
import {
  anyRow,
  columnsOf,
  type Queryable,
  type RowOf,
  statement,
  type Typed,
} from "../database/statement.ts";
import { whereGone } from "../ledgers/store.ts";
import type { ResourceState } from "../resources/states.ts";
import { keyIdInSql } from "../vault/vault.ts";

// What operators see of resources. SQL, because an export and a comparison of all need it (`Database.prisma`).

const RESOURCE = columnsOf<Typed<Resource, { state: ResourceState }>>()(
  "r",
  "uuid",
  "name",
  "plan",
  "region",
  "state",
  "appId",
  "appName",
  "attachedAs",
  "createdAt",
  "updatedAt",
  "suspendedAt",
  "suspendReason",
);
const CREDENTIAL = columnsOf<Credential>()(
  "c",
  "reason",
  "generation",
  "expiresAt",
  "dueAt",
  "lastError",
  "secretVersion",
  "flags",
);

export interface RecordRow extends RowOf<typeof RESOURCE>, RowOf<typeof CREDENTIAL> {
  /** The state of its credential. */
  credential: string;
  keyId: string | null;
  /** The platform no longer has it. */
  isGone: boolean;
}

// Each resource has a credential: it is inserted in one statement with it, and never deleted.
const records = statement<{ uuids: readonly string[] }, RecordRow>("records_of").sql(
  `SELECT ${RESOURCE}, ${CREDENTIAL}, c.state AS credential, ${whereGone("r.uuid")} AS "isGone",
     ${keyIdInSql("coalesce(c.sealed_access_token, c.sealed_grant_code)")} AS "keyId"
   FROM unnest(:uuids::uuid[]) WITH ORDINALITY AS wanted(uuid, place)
   JOIN resources r USING (uuid) JOIN credentials c USING (uuid) ORDER BY wanted.place`,
);

/** In the order of the uuids. One that is not there is left out. */
export const readRecords = (db: Queryable, uuids: readonly string[]) => db.query(records, { uuids });

type Written = { uuid: string; requestId: string };
const written = statement<Written>("is_written_by_request").sql(
  `SELECT FROM credentials WHERE uuid = :uuid AND request_id = :requestId`,
);

/** Whether the request wrote this resource, perhaps in a try of which the acknowledgement was lost. */
export const isWrittenBy = (db: Queryable, uuid: string, requestId: string) =>
  anyRow(db, written, { uuid, requestId });
