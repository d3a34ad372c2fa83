import { statement, type Queryable } from "../database/database.ts";
import { createGroupCommit } from "../database/group-commit.ts";
import { retryWhileDatabaseAway } from "../database/retry.ts";
import { BEFORE_CALL_MS } from "./claims.ts";
import { BESIDE_CALLS } from "./beside-calls.ts";
import { areAmong, type Lease } from "./lease.ts";

const markSent = statement(
  "mark_sent",
  `UPDATE credentials c SET sent_at = now()
   FROM unnest($1::uuid[], $2::int[], $3::int[]) AS i(uuid, lease, needed_seconds)
   WHERE c.uuid = i.uuid AND c.lease = i.lease AND c.leased_until > now() + make_interval(secs => i.needed_seconds)
   RETURNING c.uuid, c.lease`,
);

/** Marks, with one statement for all rows that are ready at the same moment, that their calls go out now. */
export function createMarkSent(db: Queryable) {
  const mark = createGroupCommit<Lease & { neededSeconds: number }, boolean>({
    ...BESIDE_CALLS,
    async write(rows) {
      const values = [
        rows.map((row) => row.uuid),
        rows.map((row) => row.lease),
        rows.map((row) => row.neededSeconds),
      ];
      return areAmong(rows, await db.query<Lease>(markSent, values));
    },
  });

  return ({ uuid, lease }: Lease, neededSeconds: number): Promise<boolean> =>
    retryWhileDatabaseAway(() => mark({ uuid, lease, neededSeconds }), { upToMs: BEFORE_CALL_MS });
}
