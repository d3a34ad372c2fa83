import { statement, retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import type { Vault } from "../vault/vault.ts";
import { answerBody } from "./answers.ts";
import { resourceSealContext } from "./rows.ts";

/** An installation from before the kit, once provisioned by another service or by a person. */
export interface Installation {
  uuid: string;
  plan: string;
  region: string | null;
  name: string | null;
}

// Both rows in one statement, as for a provision, and never over an existing row: a provision, a deprovision or another
// import of the same uuid at the same moment either comes first and stands, or waits and finds these rows. The answer
// is stored as if the kit had given it, so that a repeated provision gets a success and its grant is taken. Before that
// there is no grant; this raises no alarm, for nothing went wrong.
const insert = statement(
  "import_resources",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bytea[]) AS i(uuid, plan, region, name, answer)
   ), born AS (
     INSERT INTO resources (uuid, plan, applied_plan, region, name, state, answer_status, sealed_answer)
     SELECT uuid, plan, plan, region, name, 'provisioned', 200, answer FROM incoming
     ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), credential AS (
     INSERT INTO credentials (uuid, state) SELECT uuid, 'no_grant' FROM born ON CONFLICT (uuid) DO NOTHING
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'imported' FROM born
   )
   SELECT uuid FROM born`,
);

/** Writes installations whose uuids differ; returns the uuids that were new. Harmless to repeat. */
export type ImportResources = (installations: readonly Installation[]) => Promise<Set<string>>;

export function createImport(db: Queryable, vault: Vault): ImportResources {
  const answerOf = ({ uuid }: Installation) =>
    vault.seal(resourceSealContext("sealed_answer", uuid), answerBody({ id: uuid }));

  return async (installations) => {
    // Always in the order of uuids: two imports of the same uuids then wait for each other instead of deadlocking.
    const rows = installations.toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1));
    const values = [
      rows.map(({ uuid }) => uuid),
      rows.map(({ plan }) => plan),
      rows.map(({ region }) => region),
      rows.map(({ name }) => name),
      rows.map(answerOf),
    ];
    const born = await retryWhileDatabaseAway(() => db.query<{ uuid: string }>(insert, values));
    return new Set(born.map(({ uuid }) => uuid));
  };
}
