import { statement, type Queryable } from "../../../database/database.ts";

/** The age of a resource's access token, by the database's clock. */
export interface TokenTimes {
  ageSeconds: number | null;
  isBeingRefreshed: boolean;
}

const read = statement(
  "operator_token_times",
  `SELECT extract(epoch FROM now() - issued_at)::float8 AS "ageSeconds",
     coalesce(leased_until > now() AND sent_at IS NOT NULL, false) AS "isBeingRefreshed"
   FROM credentials WHERE uuid = $1`,
);

export async function readTokenTimes(db: Queryable, uuid: string): Promise<TokenTimes> {
  const [row] = await db.query<TokenTimes>(read, [uuid]);
  return row ?? { ageSeconds: null, isBeingRefreshed: false };
}
