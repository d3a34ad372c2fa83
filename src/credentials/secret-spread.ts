import { isLockTimeout } from "../database/failure.ts";
import { statement, type Queryable } from "../database/database.ts";
import { FIRST_UUID } from "../uuid.ts";

// When a new client secret is set, exactly the tokens that an older one issued fall due: the reset killed their access
// tokens. This runs page by page, so that a million of them neither hold a lock for long nor run into a time limit.
// Completion is stored last, so that after a crash another process does all of it again. Locked rows are skipped, so as
// not to hold up all others, and waited for at the end; if that takes too long, the next call tries again.
//
// A second pass follows a little later: a statement that stores tokens, begun before the new secret was committed and
// held up by a locked row, does not see the new secret, and would leave a dead token not due until half its life is
// over.

/** Longer than any statement takes that began before the secret was committed. */
const LATER = "interval '10 seconds'";
const isFirstOnly = `spread_at < created_at + ${LATER}`;

const unspread = statement(
  "read_unspread_secret",
  `SELECT version, spread_at IS NOT NULL AS "isAgain", now()::text AS "beganAt" FROM client_secrets
   WHERE spread_at IS NULL OR (${isFirstOnly} AND created_at < now() - ${LATER}) ORDER BY version DESC LIMIT 1`,
);
// The second pass ($3) leaves out what the first one made due, and what the platform has refused since.
const isOlder = (c: string) =>
  `${c}.state IN ('active', 'needs_reauth') AND ${c}.sealed_refresh_token IS NOT NULL
     AND (${c}.secret_version IS NULL OR ${c}.secret_version < $1) AND (NOT $3::bool OR (${c}.due_at > now() AND ${c}.rejected_at IS NULL))`;
// A token that was refused for good is tried once more; it keeps `rejected_at`, so that another refusal is no news.
const AGE = `UPDATE credentials c SET due_at = now(), attempts = 0,
  rejected_at = CASE WHEN c.state = 'needs_reauth' THEN c.rejected_at END`;
// No joins: a plan that was made while the table was small would compare each row of the page with each other.
const agePage = statement(
  "make_older_tokens_due",
  `WITH page AS MATERIALIZED (
     SELECT uuid, ${isOlder("credentials")} AS "isOlder" FROM credentials WHERE uuid > $2 ORDER BY uuid LIMIT 5000
   ), free AS (
     SELECT c.uuid FROM credentials c WHERE c.uuid = ANY(ARRAY(SELECT uuid FROM page WHERE "isOlder")) AND ${isOlder("c")}
     FOR UPDATE SKIP LOCKED
   ), aged AS (
     ${AGE} WHERE c.uuid = ANY(ARRAY(SELECT uuid FROM free)) RETURNING c.uuid
   )
   SELECT (SELECT count(*) FROM aged)::int AS due, (SELECT uuid FROM page ORDER BY uuid DESC LIMIT 1) AS last,
     ARRAY(SELECT uuid FROM page WHERE "isOlder" EXCEPT SELECT uuid FROM aged) AS held`,
);
const ageHeld = statement(
  "make_held_tokens_due",
  `WITH held AS (
     SELECT c.uuid FROM credentials c WHERE c.uuid = ANY($2::uuid[]) AND ${isOlder("c")} ORDER BY c.uuid FOR UPDATE
   )
   ${AGE} WHERE c.uuid = ANY(ARRAY(SELECT uuid FROM held)) RETURNING c.uuid`,
);
// `spread_at` is when the pass over all tokens began, not when it ended: the first of a million tokens are read long
// before the last, so that tokens stored in between may have been missed.
const markSpread = statement(
  "mark_secret_spread",
  `UPDATE client_secrets SET spread_at = $2::timestamptz WHERE version <= $1 AND (spread_at IS NULL OR ${isFirstOnly})`,
);

const HELD_AT_ONCE = 1_000;

interface Unspread {
  version: number;
  isAgain: boolean;
  beganAt: string;
}

interface Page {
  /**
   * How many of its token pairs were made due, and the uuids of those that were not, because their rows were locked.
   */
  due: number;
  held: string[];
  last: string | null;
}

/**
 * The progress of a pass: the last uuid of the last page (null: all were read), and the uuids whose rows were locked.
 */
interface Progress extends Unspread {
  after: string | null;
  held: string[];
}

/**
 * Makes the tokens of older secrets due, if a newer one was set and that is not done yet, or may have missed some.
 * Returns how many were made due. Ends early when `signal` is aborted or a row stays locked; throws when the database
 * fails. The next call in this process continues from there.
 */
export type SpreadSecret = (signal?: AbortSignal) => Promise<number>;

export function createSecretSpread(db: Queryable): SpreadSecret {
  let begun: Progress | null = null;

  async function progress(): Promise<Progress | null> {
    const [secret] = await db.query<Unspread>(unspread);
    if (!secret) return null;
    const isSame = begun?.version === secret.version && begun.isAgain === secret.isAgain;
    return isSame ? begun : { ...secret, after: FIRST_UUID, held: [] };
  }

  return async (signal) => {
    const here = (begun = await progress());
    if (!here) return 0;
    const { version, isAgain, beganAt, held } = here;
    let total = 0;
    while (here.after !== null) {
      if (signal?.aborted) return total;
      const [page]: Page[] = await db.query(agePage, [version, here.after, isAgain]);
      total += page!.due;
      held.push(...page!.held);
      here.after = page!.last;
    }
    try {
      for (let at = 0; at < held.length; at += HELD_AT_ONCE)
        total += (await db.query(ageHeld, [version, held.slice(at, at + HELD_AT_ONCE), isAgain])).length;
      await db.query(markSpread, [version, beganAt]);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return total;
    }
    begun = null;
    return total;
  };
}
