import {
  encodingInWords,
  HOW_TO_BE_LET_IN,
  HOW_TO_ENCODE,
  HOW_TO_POOL,
  howToMakeValid,
  howToMigrate,
  invalidIndexes,
  invalidInWords,
  isDiskFull,
  isFaultOfTls,
  isOutOfConnections,
  isRefusedByPooler,
  isSharedSession,
  KEEPS_BYTES,
  otherEncoding,
  refusalInWords,
  SHARES_SESSIONS,
  sharesSessions,
  TakesNoWrites,
  tellOfAddress,
} from "../../database/database.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import { countKeyUse, type KeyUse } from "../../resources/keys.ts";
import type { Services } from "../../services.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

export async function database({ db, config }: Services): Promise<Finding> {
  const name = db.kind === "postgresql" ? "PostgreSQL" : `The embedded database in ${config.dataDir}`;
  try {
    const asked = performance.now();
    await db.ping().catch(tellOfAddress);
    const tookMs = Math.ceil(performance.now() - asked);
    if (config.databaseUrl && (await sharesSessions(config.databaseUrl.reveal(), config.databaseCa)))
      return fault(SHARES_SESSIONS, HOW_TO_POOL);
    await db.tryRoom();
    return fine(`${name} answers in ${tookMs} ms.`);
  } catch (error) {
    const cause = error instanceof Misconfigured ? error.cause : error;
    if (isSharedSession(cause)) return fault(SHARES_SESSIONS, HOW_TO_POOL);
    if (isRefusedByPooler(cause)) return fault(refusalInWords(cause), HOW_TO_BE_LET_IN);
    if (error instanceof Misconfigured)
      return fault(error.message, isFaultOfTls(cause) ? CERTIFIED : LETS_US_IN);
    if (error instanceof TakesNoWrites)
      return fault(`${name} answers, but takes no writes: it is read-only.`, WRITABLE);
    if (isDiskFull(error)) return fault(`${name} answers, but its disk is full: ${messageOf(error)}`, ROOMY);
    return fault(
      `${name} does not answer: ${messageOf(error)}`,
      isOutOfConnections(error) ? ROOM : REACHABLE,
    );
  }
}

const REACHABLE =
  "Is it running, and is DATABASE_URL the right address? The service waits for it and goes on by itself.";
const LETS_US_IN =
  "Mend the user, the password or the database that DATABASE_URL names, or what that user may do: no process starts with it, and one that runs waits.";
const CERTIFIED =
  "Set DATABASE_CA to the certificate of the authority that signed the server's (or to no-verify, where anyone may answer), or mend sslmode in DATABASE_URL: no process starts with it, and one that runs waits.";
const ROOMY =
  "Make room on the disk of PostgreSQL's data, or give it a larger one. Nearly every provision fails meanwhile; the service goes on by itself.";
const WRITABLE =
  "Is it a standby, or was it made so because its disk is full? Make it writable, or have DATABASE_URL name the primary. The service goes on by itself.";
const ROOM =
  "End what holds its connections, or allow it more; each process takes DATABASE_POOL. The service goes on with those it has.";

/** Checks that the database can store any text that a provision may bring. */
export async function encoding({ db }: Services): Promise<Finding> {
  const other = await otherEncoding(db);
  if (other === null) return fine("The database stores text as UTF-8.");
  if (other !== KEEPS_BYTES) return fault(encodingInWords(other), HOW_TO_ENCODE);
  return warning(`The database keeps text as ${other}: the bytes it is given, unchecked.`, HOW_TO_ENCODE);
}

/** Whether the schema is up to date, and every index of it is valid. */
export async function migrations({ db }: Services): Promise<Finding> {
  const pending = await db.pendingMigrations();
  const invalid = await invalidIndexes(db);
  const isInvalid = invalid.length > 0;
  if (pending.length === 0) {
    if (isInvalid) return warning(invalidInWords(invalid), howToMakeValid(invalid));
    return fine("The schema is up to date.");
  }
  const lacked = `The database lacks ${counted(pending.length, "migration")}.`;
  if (!isInvalid) return fault(lacked, howToMigrate(db.kind));
  return fault(
    `${lacked} ${invalidInWords(invalid)}`,
    `${howToMakeValid(invalid)}\nThen: ${howToMigrate(db.kind)}`,
  );
}

/** Tells which keys are in use, and whether an old one can be dropped: each sealed value names its key. */
export async function keys({ db, vault, config }: Services): Promise<Finding> {
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
