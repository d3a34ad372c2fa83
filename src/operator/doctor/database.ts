import { HOW_TO_MIGRATE, isDatabaseAway, TakesNoWrites, throwInWords } from "../../database/database.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import type { OpenContext } from "../../open-context.ts";
import { countKeyUse, type KeyUse } from "../../vault/store.ts";
import { counted } from "../wording.ts";
import { fault, fine, warning, type Finding } from "./finding.ts";
import { lacking, notOffered } from "./store.ts";

// The database itself, and whether what it holds fits this build and its settings.

export async function database({ db }: OpenContext): Promise<Finding> {
  try {
    const asked = performance.now();
    await db.ping().catch(throwInWords);
    return fine(`PostgreSQL answers in ${Math.ceil(performance.now() - asked)} ms.`);
  } catch (error) {
    if (error instanceof Misconfigured)
      return fault(
        error.message,
        "Fix the user, the password, the database or the encryption that DATABASE_URL names, or what that user may do: no process starts with it, and one that runs waits.",
      );
    if (error instanceof TakesNoWrites)
      return fault(
        "PostgreSQL answers, but takes no writes: it is read-only.",
        "Is it a standby, or was it made so because its disk is full? Make it writable, or have DATABASE_URL name the primary. The service goes on by itself.",
      );
    const fix = isDatabaseAway(error)
      ? "Is it running, and is DATABASE_URL the right address? The service waits for it and goes on by itself."
      : "Fix what it says: no process starts with it.";
    return fault(`PostgreSQL does not answer: ${messageOf(error)}`, fix);
  }
}

/** Whether the schema is up to date, and the service can use all of it. */
export async function schema({ db }: Pick<OpenContext, "db">): Promise<Finding> {
  const pending = await db.pendingMigrations();
  if (pending.length > 0)
    return fault(`The database lacks ${counted(pending.length, "migration")}.`, HOW_TO_MIGRATE);
  const lacks = await lacking(db);
  if (lacks.length === 0) return fine("The schema is up to date.");
  const each = (member: "words" | "fix") => [...new Set(lacks.map((lack) => lack[member]))].join(" ");
  return fault(each("words"), each("fix"));
}

/** At most this many plans are named. */
const MOST_NAMED = 10;

/** Whether every plan that a customer has is still on offer: the vendor's functions are called with it. */
export async function plans({ db, offer }: OpenContext): Promise<Finding> {
  const missing = await notOffered(db, Object.keys(offer.plans));
  if (missing.length === 0) return fine("Every plan that a customer has is on offer.");
  const named = missing
    .slice(0, MOST_NAMED)
    .map(({ plan, count }) => `${plan} (${counted(count, "resource")})`);
  const more = missing.length > MOST_NAMED ? ", and more" : "";
  return warning(
    `Customers have plans that are not on offer: ${named.join(", ")}${more}.`,
    "Put them back into src/your-service/plans.ts: a plan's name stays as long as a customer has it.",
  );
}

/** Which keys are in use, and whether an old one can be dropped: each sealed value names its key. */
export async function keys({ db, vault, config }: OpenContext): Promise<Finding> {
  const uses = await countKeyUse(db);
  const missing = uses.filter(({ keyId }) => !vault.keyIds.includes(keyId));
  if (missing.length > 0)
    return fault(
      `Sealed with keys that are not in the ring: ${listed(missing)}.`,
      "Put the old key into DECRYPTION_KEYS, or nothing it sealed can be opened.",
    );
  const rows = uses.find(({ keyId }) => keyId === vault.keyId)?.rows ?? 0;
  const now = `ENCRYPTION_KEY (${vault.keyId}) seals ${counted(rows, "row")}`;
  const old = uses.filter(({ keyId }) => keyId !== vault.keyId);
  if (old.length > 0)
    return warning(
      `${now}; older keys still seal some: ${listed(old)}.`,
      "When all processes run with the new ENCRYPTION_KEY, run: kit keys reseal",
    );
  if (!config.decryptionKeys?.length) return fine(`${now}.`);
  return warning(
    `${now}, and nothing is sealed with any of DECRYPTION_KEYS.`,
    "An old key can be dropped 12 hours after no process seals with it any more. A new one stays: make it ENCRYPTION_KEY next.",
  );
}

function listed(uses: readonly KeyUse[]): string {
  return uses.map(({ keyId, rows }) => `${keyId} (${counted(rows, "row")})`).join(", ");
}
