import {
  HOW_TO_MIGRATE,
  isDatabaseAway,
  statement,
  TakesNoWrites,
  throwInWords,
} from "../../database/database.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import { countKeyUse, type KeyUse } from "../../resources/keys.ts";
import type { OpenContext } from "../../open-context.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

export async function database({ db }: OpenContext): Promise<Finding> {
  try {
    const asked = performance.now();
    await db.ping().catch(throwInWords);
    return fine(`PostgreSQL answers in ${Math.ceil(performance.now() - asked)} ms.`);
  } catch (error) {
    if (error instanceof Misconfigured) return fault(error.message, LETS_US_IN);
    if (error instanceof TakesNoWrites)
      return fault("PostgreSQL answers, but takes no writes: it is read-only.", WRITABLE);
    const fix = isDatabaseAway(error) ? REACHABLE : "Mend what it says: no process starts with it.";
    return fault(`PostgreSQL does not answer: ${messageOf(error)}`, fix);
  }
}

const REACHABLE =
  "Is it running, and is DATABASE_URL the right address? The service waits for it and goes on by itself.";
const LETS_US_IN =
  "Mend the user, the password, the database or the encryption that DATABASE_URL names, or what that user may do: no process starts with it, and one that runs waits.";
const WRITABLE =
  "Is it a standby, or was it made so because its disk is full? Make it writable, or have DATABASE_URL name the primary. The service goes on by itself.";

// What PostgreSQL would say only at the first statement that needs it. Tables are ours if their owner made the table of
// migrations.
const lacking = statement(
  "what_the_schema_lacks",
  `WITH ours AS (
     SELECT c.oid, c.relname, c.relkind FROM pg_class c JOIN pg_class m USING (relnamespace, relowner)
     WHERE m.oid = to_regclass('_prisma_migrations')
   )
   SELECT 'The database stores text as ' || current_setting('server_encoding') || ', not UTF8.' AS words,
     'Make a new one with ENCODING UTF8, and carry over what this one holds with pg_dump and pg_restore.' AS fix
   WHERE current_setting('server_encoding') <> 'UTF8'
   UNION ALL
   SELECT format('The role %I may not %s in %s.', current_user, privilege, string_agg(relname, ', ' ORDER BY relname)),
     'Grant what docs/database.md lists.'
   FROM ours JOIN (VALUES ('r', 'SELECT'), ('r', 'INSERT'), ('r', 'UPDATE'), ('S', 'USAGE')) AS n (kind, privilege)
     ON kind = relkind
   WHERE (privilege = 'SELECT' OR relname <> '_prisma_migrations') AND NOT CASE kind
     WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE, UPDATE') ELSE has_table_privilege(oid, privilege) END
   GROUP BY privilege
   UNION ALL
   SELECT format('The index %s is not valid.', i.indexrelid::regclass), 'DROP INDEX it, and make it again.'
   FROM pg_index i JOIN ours ON ours.oid = i.indrelid WHERE NOT i.indisvalid`,
);

/** Whether the schema is up to date, and the service can use all of it. */
export async function schema({ db }: OpenContext): Promise<Finding> {
  const pending = await db.pendingMigrations();
  if (pending.length > 0)
    return fault(`The database lacks ${counted(pending.length, "migration")}.`, HOW_TO_MIGRATE);
  const lacks = await db.query<{ words: string; fix: string }>(lacking);
  if (lacks.length === 0) return fine("The schema is up to date.");
  const told = (of: (lack: { words: string; fix: string }) => string) =>
    [...new Set(lacks.map(of))].join(" ");
  return fault(
    told(({ words }) => words),
    told(({ fix }) => fix),
  );
}

/** Tells which keys are in use, and whether an old one can be dropped: each sealed value names its key. */
export async function keys({ db, vault, config }: OpenContext): Promise<Finding> {
  const uses = await countKeyUse(db);
  const missing = uses.filter(({ keyId }) => !vault.keyIds.includes(keyId));
  if (missing.length > 0) {
    return fault(
      `Sealed with keys that are not in the ring: ${listed(missing)}.`,
      "Put the old key into DECRYPTION_KEYS, or nothing it sealed can be opened.",
    );
  }
  const old = uses.filter(({ keyId }) => keyId !== vault.keyId);
  const now = `ENCRYPTION_KEY (${vault.keyId}) seals ${counted(rowsOf(uses, vault.keyId), "row")}`;
  if (old.length > 0) {
    return warning(
      `${now}; older keys still seal some: ${listed(old)}.`,
      "When all processes run with the new ENCRYPTION_KEY, run: kit keys reseal",
    );
  }
  if (!config.decryptionKeys || config.decryptionKeys.length === 0) return fine(`${now}.`);
  return warning(
    `${now}, and nothing is sealed with any of DECRYPTION_KEYS.`,
    "An old key can be dropped 12 hours after no process seals with it any more. A new one stays: make it ENCRYPTION_KEY next.",
  );
}

function rowsOf(uses: readonly KeyUse[], wanted: string): number {
  return uses.find(({ keyId }) => keyId === wanted)?.rows ?? 0;
}

function listed(uses: readonly KeyUse[]): string {
  return uses.map(({ keyId, rows }) => `${keyId} (${counted(rows, "row")})`).join(", ");
}
