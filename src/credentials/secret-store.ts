import { statement, type Database, type Queryable } from "../database/database.ts";
import { FIRST_UUID } from "../uuid.ts";

// The versions of the partner's client secret, and the token pairs that they issued.

const readCurrent = statement(
  "read_client_secret",
  `SELECT version, sealed_secret AS "sealedSecret", rejected_at IS NOT NULL AS "isRejected",
     rejected_at IS NOT NULL AND is_presumed AS "isPresumed"
   FROM client_secrets ORDER BY version DESC LIMIT 1`,
);
// One process takes it, whichever is first.
const takeTheProbe = statement(
  "take_secret_probe",
  `UPDATE client_secrets SET probe_at = now() + interval '60 seconds'
   WHERE version = $1 AND rejected_at IS NOT NULL AND probe_at <= now() RETURNING version`,
);
// A presumed rejection may become a certain one, never the reverse.
const reject = statement(
  "reject_client_secret",
  `WITH turned AS (
     UPDATE client_secrets SET rejected_at = now(), is_presumed = $2,
       probe_at = now() + CASE WHEN $2 THEN interval '0' ELSE interval '60 seconds' END
     WHERE version = $1 AND (rejected_at IS NULL OR (is_presumed AND NOT $2::bool)) RETURNING version
   )
   SELECT EXISTS (SELECT 1 FROM turned) AS "isNews", max(version) = $1 AS "isCurrent" FROM client_secrets`,
);
const accept = statement(
  "accept_client_secret",
  `UPDATE client_secrets SET rejected_at = NULL, is_presumed = false, probe_at = NULL
   WHERE version = $1 AND rejected_at IS NOT NULL RETURNING version`,
);
const readAll = statement(
  "read_client_secrets",
  `SELECT version, sealed_secret AS "sealed", hash FROM client_secrets ORDER BY version`,
);
// Of two processes that bring the same new secret at once, the second finds it stored.
const lock = statement("lock_client_secrets", `LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`);
const nextVersion = statement(
  "next_secret_version",
  `SELECT nextval(pg_get_serial_sequence('client_secrets', 'version'))::int AS version`,
);
const insert = statement(
  "insert_client_secret",
  `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES ($1, $2, $3)`,
);
// Grants that wait for another try with an older secret do not have to: some have seconds left. One that was never
// tried waits for the answer to its provision request.
const wakeGrants = statement(
  "wake_refused_grants",
  `UPDATE credentials SET due_at = now() WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND due_at > now() FOR UPDATE SKIP LOCKED))`,
);

// When a new client secret is set, exactly the tokens that an older one issued fall due: the reset killed their access
// tokens. This runs page by page, so that a million of them neither hold a lock for long nor run into a time limit.
// Rows that are locked are left for the next pass. The last pass begins ten seconds after the secret was stored: a
// statement that stores tokens, begun before that and held up by a locked row, does not see the new secret. Such a pass
// ($3) leaves out what is due already, and what the platform has refused since.
const readUnspread = statement(
  "read_unspread_secret",
  `SELECT version, created_at < now() - interval '10 seconds' AS "isLast", now()::text AS "beganAt" FROM client_secrets
   WHERE spread_at IS NULL OR spread_at < created_at + interval '10 seconds' ORDER BY version DESC LIMIT 1`,
);
const IS_OLDER = `state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
  AND (secret_version IS NULL OR secret_version < $1) AND (NOT $3::bool OR (due_at > now() AND rejected_at IS NULL))`;
// A token that was refused for good is tried once more; it keeps `rejected_at`, so that another refusal is no news. No
// joins: a plan made while the table was small would compare each row of the page with each other.
const agePage = statement(
  "make_older_tokens_due",
  `WITH page AS MATERIALIZED (
     SELECT uuid, ${IS_OLDER} AS "isOlder" FROM credentials WHERE uuid > $2 ORDER BY uuid LIMIT 5000
   ), free AS (
     SELECT uuid FROM credentials WHERE uuid = ANY(ARRAY(SELECT uuid FROM page WHERE "isOlder")) AND ${IS_OLDER}
     FOR UPDATE SKIP LOCKED
   ), aged AS (
     UPDATE credentials SET due_at = now(), attempts = 0,
       rejected_at = CASE WHEN state = 'needs_reauth' THEN rejected_at END
     WHERE uuid = ANY(ARRAY(SELECT uuid FROM free)) RETURNING uuid
   )
   SELECT (SELECT count(*) FROM aged)::int AS due, (SELECT count(*) FROM page WHERE "isOlder")::int AS older,
     (SELECT uuid FROM page ORDER BY uuid DESC LIMIT 1) AS last`,
);
const markSpread = statement(
  "mark_secret_spread",
  `UPDATE client_secrets SET spread_at = $2::timestamptz WHERE version <= $1`,
);

/** A version of the client secret as it is stored. */
export interface StoredSecret {
  version: number;
  sealedSecret: Buffer;
  isRejected: boolean;
  isPresumed: boolean;
}

export async function readClientSecret(db: Queryable): Promise<StoredSecret | null> {
  return (await db.query<StoredSecret>(readCurrent))[0] ?? null;
}

export async function takeProbe(db: Queryable, version: number): Promise<boolean> {
  return (await db.query(takeTheProbe, [version])).length > 0;
}

/** `isNews`: it was not known before. `isCurrent`: no newer version is stored. */
export async function rejectSecret(db: Queryable, version: number, isPresumed: boolean) {
  return (await db.query<{ isNews: boolean; isCurrent: boolean | null }>(reject, [version, isPresumed]))[0]!;
}

/** True if it was rejected until now. */
export async function acceptSecret(db: Queryable, version: number): Promise<boolean> {
  return (await db.query(accept, [version])).length > 0;
}

/** Every client secret as it is sealed, the oldest first, whether it opens or not. */
export function sealedSecrets(db: Queryable) {
  return db.query<{ version: number; sealed: Buffer; hash: Buffer }>(readAll);
}

/** Stores a new version, and wakes the grants that wait; `seal` gives what to store. Null if `isUnwanted` says so. */
export function addSecret(
  db: Database,
  seal: (version: number) => { sealed: Uint8Array; hash: Uint8Array },
  isUnwanted: (stored: readonly { sealed: Buffer; hash: Buffer }[]) => boolean,
): Promise<number | null> {
  return db.transaction(async (tx) => {
    await tx.query(lock, []);
    if (isUnwanted(await sealedSecrets(tx))) return null;
    const { version } = (await tx.query<{ version: number }>(nextVersion, []))[0]!;
    const { sealed, hash } = seal(version);
    await tx.query(insert, [version, sealed, hash]);
    await tx.query(wakeGrants);
    return version;
  });
}

/** The version whose older tokens are still to be made due; null: none. `isLast`: a pass that begins now is the last one. */
export async function unspreadSecret(db: Queryable) {
  return (await db.query<{ version: number; isLast: boolean; beganAt: string }>(readUnspread))[0] ?? null;
}

/** Makes the tokens of older secrets due. `isWhole`: no row was left out, for its lock or because `signal` was aborted. */
export async function makeOlderTokensDue(
  db: Queryable,
  { version, isLast, beganAt }: { version: number; isLast: boolean; beganAt: string },
  signal?: AbortSignal,
): Promise<{ due: number; isWhole: boolean }> {
  let due = 0;
  let older = 0;
  for (let after: string | null = FIRST_UUID; after !== null;) {
    if (signal?.aborted) return { due, isWhole: false };
    const [page]: { due: number; older: number; last: string | null }[] = await db.query(agePage, [
      ...[version, after, isLast],
    ]);
    due += page!.due;
    older += page!.older;
    after = page!.last;
  }
  const isWhole = due === older;
  if (isWhole && isLast) await db.query(markSpread, [version, beganAt]);
  return { due, isWhole };
}

// The hash is keyed with the key that sealed the row, so both must change together.
const reseal = statement(
  "reseal_client_secret",
  `UPDATE client_secrets SET sealed_secret = $3, hash = $4 WHERE version = $1 AND sealed_secret = $2 RETURNING version`,
);

/** Stores a version sealed anew. False: its row changed meanwhile. */
export async function storeResealed(
  db: Queryable,
  { version, sealed }: { version: number; sealed: Buffer },
  anew: { sealed: Uint8Array; hash: Uint8Array },
): Promise<boolean> {
  return (await db.query(reseal, [version, sealed, anew.sealed, anew.hash])).length > 0;
}

const remove = statement(
  "forget_client_secrets",
  `DELETE FROM client_secrets WHERE version = ANY($1::int[])`,
);

export async function deleteSecrets(db: Queryable, versions: readonly number[]): Promise<void> {
  await db.query(remove, [versions]);
}

export interface StaleTokens {
  stale: number;
  waiting: number;
}

// `stale` counts the token pairs that an older secret issued and that fell due when the newer one was set
// (`readUnspread`). `waiting` counts those of them that will be tried again soon; a pair that the platform refused
// for good is not waited for. No index covers this, because every refresh would have to update it; so all rows are
// read, piece by piece.
const countStaleTokens = statement(
  "count_stale_tokens",
  `SELECT count(*)::int AS stale, count(*) FILTER (WHERE state = 'active' AND due_at IS NOT NULL)::int AS waiting
   FROM credentials
   WHERE state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
     AND (secret_version IS NULL OR secret_version < $1)`,
);

export async function countStale(db: Database, version: number): Promise<StaleTokens> {
  return (await db.readWhole<StaleTokens>(countStaleTokens, [version]))[0]!;
}
