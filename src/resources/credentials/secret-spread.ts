import { statement, type Queryable } from "../../database/database.ts";

// Exactly the tokens that an older client secret issued fall due when a new one is set: the reset killed their access
// tokens. Page by page, so that a million of them neither hold a lock for long nor run into a time limit; that it was
// done to the end is written down last, so another process goes on where one died. A row that somebody holds is passed
// over, not to hold up all others, and met the next time.

const unspread = statement(
  "read_unspread_secret",
  `SELECT version FROM client_secrets WHERE spread_at IS NULL ORDER BY version DESC LIMIT 1`,
);
const isOlder = (c: string) =>
  `${c}.state IN ('active', 'needs_reauth') AND ${c}.sealed_refresh_token IS NOT NULL
     AND (${c}.secret_version IS NULL OR ${c}.secret_version < $1)`;
const agePage = statement(
  "make_older_tokens_due",
  `WITH page AS (
     SELECT uuid, ${isOlder("credentials")} AS "isOlder" FROM credentials WHERE uuid > $2 ORDER BY uuid LIMIT 5000
   ), free AS (
     SELECT c.uuid FROM credentials c JOIN page USING (uuid) WHERE ${isOlder("c")} FOR UPDATE OF c SKIP LOCKED
   ), aged AS (
     UPDATE credentials c SET due_at = now(), attempts = 0, rejected_at = NULL FROM free WHERE c.uuid = free.uuid RETURNING c.uuid
   )
   SELECT (SELECT count(*) FROM page WHERE "isOlder")::int AS older, (SELECT count(*) FROM aged)::int AS due,
     (SELECT uuid FROM page ORDER BY uuid DESC LIMIT 1) AS last`,
);
const markSpread = statement(
  "mark_secret_spread",
  `UPDATE client_secrets SET spread_at = now() WHERE version <= $1 AND spread_at IS NULL`,
);

const FIRST = "00000000-0000-0000-0000-000000000000";

interface Page {
  /** How many of its token pairs an older secret issued, and how many of them nobody held. */
  older: number;
  due: number;
  last: string | null;
}

/** Makes the tokens of older secrets due, if a newer one was set and that is not done yet. Answers how many it met. */
export type SpreadSecret = () => Promise<number>;

export function createSecretSpread(db: Queryable): SpreadSecret {
  return async () => {
    const [secret] = await db.query<{ version: number }>(unspread);
    if (!secret) return 0;
    let total = 0;
    let passedOver = 0;
    for (let after: string | null = FIRST; after !== null;) {
      const [page]: Page[] = await db.query(agePage, [secret.version, after]);
      total += page!.due;
      passedOver += page!.older - page!.due;
      after = page!.last;
    }
    if (passedOver === 0) await db.query(markSpread, [secret.version]);
    return total;
  };
}
