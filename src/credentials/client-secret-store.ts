import type { ClientSecret, Credential } from "../database/client/client.ts";
import { type Database, READS_WHOLE } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { anyRow, columnsOf, oneRow, type Queryable, type RowOf, statement } from "../database/statement.ts";

// The versions of the client secret, and which tokens an older version issued.

type Version = Pick<ClientSecret, "version">;

const CURRENT = columnsOf<ClientSecret>()("s", "version", "sealedSecret");
const readSecret = statement<object, RowOf<typeof CURRENT> & { isRejected: boolean; isPresumed: boolean }>(
  "read_client_secret",
).sql(
  `SELECT ${CURRENT}, s.rejected_at IS NOT NULL AS "isRejected",
     s.rejected_at IS NOT NULL AND s.is_presumed AS "isPresumed"
   FROM client_secrets s ORDER BY s.version DESC LIMIT 1`,
);
// The row lock gives the probe to one process.
const takeProbe = statement<Version, Version>("take_secret_probe").sql(
  `UPDATE client_secrets SET probe_at = now() + interval '60 seconds'
   WHERE version = :version AND rejected_at IS NOT NULL AND probe_at <= now() RETURNING version`,
);
const reject = statement<
  Pick<ClientSecret, "version" | "isPresumed">,
  { isNews: boolean; isCurrent: boolean | null }
>("reject_client_secret").sql(
  `WITH turned AS (
     UPDATE client_secrets SET rejected_at = now(), is_presumed = :isPresumed,
       probe_at = now() + CASE WHEN :isPresumed THEN interval '0' ELSE interval '60 seconds' END
     -- A presumed rejection may become a certain one, but not the reverse.
     WHERE version = :version AND (rejected_at IS NULL OR (is_presumed AND NOT :isPresumed::bool)) RETURNING version
   )
   SELECT EXISTS (SELECT 1 FROM turned) AS "isNews", max(version) = :version AS "isCurrent" FROM client_secrets`,
);
const accept = statement<Version, Version>("accept_client_secret").sql(
  `UPDATE client_secrets SET rejected_at = NULL, is_presumed = false, probe_at = NULL
   WHERE version = :version AND rejected_at IS NOT NULL RETURNING version`,
);

export const readClientSecret = (db: Queryable) => oneRow(db, readSecret);

export const takeSecretProbe = (db: Queryable, version: number) => anyRow(db, takeProbe, { version });

/** Stores a rejection. `isNews`: this call stored it first. `isCurrent`: no newer version is stored. */
export const rejectSecret = async (db: Queryable, version: number, isPresumed: boolean) =>
  (await oneRow(db, reject, { version, isPresumed }))!;

/** Clears a rejection. Returns `true` if the secret was rejected until now. */
export const acceptSecret = (db: Queryable, version: number) => anyRow(db, accept, { version });

const SECRET = columnsOf<ClientSecret>()("s", "version", "sealedSecret", "hash");
const readAll = statement<object, RowOf<typeof SECRET>>("read_client_secrets").sql(
  `SELECT ${SECRET} FROM client_secrets s ORDER BY s.version`,
);
// If two processes import the same new secret at once, the second waits for the lock and finds the secret stored.
const lock = statement("lock_client_secrets").sql(`LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`);
// The version is drawn before the row is written, because the secret is sealed for its version.
const nextVersion = statement<object, Version>("next_secret_version").sql(
  `SELECT nextval(pg_get_serial_sequence('client_secrets', 'version'))::int AS version`,
);
const insert = statement<Pick<ClientSecret, "version" | "sealedSecret" | "hash">>("insert_client_secret").sql(
  `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (:version, :sealedSecret, :hash)`,
);
// Grants that the older secret could not exchange may have seconds left. A grant without an attempt is left out: it may
// wait for the answer to its provision.
const wakeGrants = statement("wake_refused_grants").sql(
  `UPDATE credentials SET due_at = now() WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND due_at > now() FOR UPDATE SKIP LOCKED))`,
);

export type StoredSecret = RowOf<typeof SECRET>;
type SealedSecret = Pick<ClientSecret, "sealedSecret" | "hash">;

/** Stores a new version and makes waiting grants due. Returns `null` if `isUnwanted` rejects the stored versions. */
export function addSecret(
  db: Database,
  seal: (version: number) => SealedSecret,
  isUnwanted: (stored: readonly StoredSecret[]) => boolean,
): Promise<number | null> {
  return db.transaction(async (tx) => {
    await tx.query(lock);
    if (isUnwanted(await tx.query(readAll))) return null;
    const { version } = (await oneRow(tx, nextVersion))!;
    const { sealedSecret, hash } = seal(version);
    await tx.query(insert, { version, sealedSecret, hash });
    await tx.query(wakeGrants);
    return version;
  });
}

// A new client secret makes the tokens due that an older one issued, because the reset ended their access tokens. A pass goes
// through all tokens in the order in which they are due, 5000 at a time, whatever secret issued them: among millions, a search
// for the last ones would exceed a time limit.

const IS_OLDER = `state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
  AND (secret_version IS NULL OR secret_version < :version)` as const;
const IS_LEFT = `${IS_OLDER} AND due_at > now() AND (:isFirst OR attempts = 0)` as const;

type Spread = { version: number; isFirst: boolean };

/** One pass over the tokens of older secrets. */
export interface Pass extends Spread {
  /** The database's time. */
  beganAt: string;
  /** The tokens that are due until then were looked at. */
  afterDue: string | null;
  /** How many were passed over, because others had locked them. */
  left: number;
}

const readUnspread = statement<object, Spread & { beganAt: string }>("read_unspread_secret").sql(
  `SELECT version, spread_at IS NULL AS "isFirst", now()::text AS "beganAt" FROM client_secrets
   WHERE spread_at IS NULL
     -- The second pass finds tokens that were locked during the first pass, or were stored by a statement that began before
     -- the secret was stored. It leaves out tokens whose refresh has failed since.
     OR (spread_at < created_at + interval '10 seconds' AND created_at < now() - interval '10 seconds')
   ORDER BY version DESC LIMIT 1`,
);
// Clears the refusals of due tokens: they were refused with the older secret.
const forgetRefusals = statement<Version, Pick<Credential, "uuid">>("forget_refusals").sql(
  `UPDATE credentials SET attempts = 0, rejected_at = NULL WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_OLDER} AND state = 'active' AND rejected_at IS NOT NULL AND due_at <= now()
     LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
// The first condition is the one of the index credentials_refresh_due.
const makeDue = statement<
  Spread & Pick<Pass, "afterDue">,
  { afterDue: string | null; found: number; due: number }
>("make_older_tokens_due").sql(
  `WITH next AS MATERIALIZED (
     SELECT uuid, due_at, (${IS_LEFT}) AS is_left FROM credentials
     WHERE state IN ('active', 'needs_reauth', 'signed_in') AND due_at > greatest(now(), :afterDue::timestamptz)
     ORDER BY due_at FETCH FIRST 5000 ROWS WITH TIES
   ), due AS (
     UPDATE credentials SET due_at = now(), attempts = 0,
       -- A token that was refused for good gets one more attempt. Its \`rejected_at\` stays, so another refusal is not reported.
       rejected_at = CASE WHEN state = 'needs_reauth' THEN rejected_at END
     WHERE uuid = ANY(ARRAY(
       SELECT uuid FROM credentials WHERE uuid = ANY(ARRAY(SELECT uuid FROM next WHERE is_left)) AND ${IS_LEFT}
       FOR UPDATE SKIP LOCKED)) RETURNING uuid
   )
   SELECT max(due_at)::text AS "afterDue", (count(*) FILTER (WHERE is_left))::int AS found,
     (SELECT count(*) FROM due)::int AS due FROM next`,
);
const markSpread = statement<Version & Pick<Pass, "beganAt">>("mark_secret_spread").sql(
  `UPDATE client_secrets SET spread_at = :beganAt::timestamptz WHERE version <= :version`,
);

/**
 * Makes the tokens of older secrets due unless that is done. `signal` ends it between two batches, and `pass` is then what
 * the next call goes on with.
 */
export async function makeOlderTokensDue(
  db: Queryable,
  begun: Pass | null,
  signal?: AbortSignal,
): Promise<{ due: number; pass: Pass | null }> {
  const unspread = await oneRow(db, readUnspread);
  if (!unspread) return { due: 0, pass: null };
  const { version, isFirst } = unspread;
  const isSame = begun?.version === version && begun.isFirst === isFirst;
  let pass: Pass = isSame ? begun : { ...unspread, afterDue: null, left: 0 };
  const isToForget = isFirst && pass.afterDue === null;
  for (let rows = isToForget ? -1 : 0; rows !== 0;) {
    if (signal?.aborted) return { due: 0, pass };
    rows = (await db.query(forgetRefusals, { version })).length;
  }
  for (let due = 0; ;) {
    if (signal?.aborted) return { due, pass };
    const batch = (await oneRow(db, makeDue, { version, isFirst, afterDue: pass.afterDue }))!;
    due += batch.due;
    pass = { ...pass, afterDue: batch.afterDue, left: pass.left + batch.found - batch.due };
    if (batch.afterDue !== null) continue;
    if (isFirst || pass.left === 0) await db.query(markSpread, pass);
    return { due, pass: null };
  }
}

// Reads all rows. An index would have to be updated at every refresh.
const countOlder = statement<Version, { stale: number; waiting: number }>("count_stale_tokens").sql(
  `SELECT count(*)::int AS stale, count(*) FILTER (WHERE state = 'active' AND due_at IS NOT NULL AND rejected_at IS NULL)::int AS waiting
   FROM credentials WHERE ${IS_OLDER}`,
);

/** `stale`: the pairs that an older secret issued. `waiting`: those of them that wait for a refresh without a refusal. */
export const countStale = (db: Database, version: number) =>
  retryWhileUnreachable(async () => (await db.readWhole(countOlder, { version }))[0]!, READS_WHOLE);
