import { statement, type Queryable } from "../../database/database.ts";

/** When the tokens of a resource were issued, by the database's clock. */
export interface TokenTimes {
  issuedAt: Date | null;
  ageSeconds: number | null;
  isBeingRefreshed: boolean;
}

const read = statement(
  "operator_token_times",
  `SELECT issued_at AS "issuedAt", extract(epoch FROM now() - issued_at)::float8 AS "ageSeconds",
     coalesce(leased_until > now() AND sent_at IS NOT NULL, false) AS "isBeingRefreshed"
   FROM credentials WHERE uuid = $1`,
);

export async function readTokenTimes(db: Queryable, uuid: string): Promise<TokenTimes> {
  const [row] = await db.query<TokenTimes>(read, [uuid]);
  return row ?? { issuedAt: null, ageSeconds: null, isBeingRefreshed: false };
}
