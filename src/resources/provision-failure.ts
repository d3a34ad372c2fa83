import type { Context } from "../context.ts";
import { statement } from "../database/database.ts";
import { FIRST_UUID } from "../uuid.ts";
import { isIn } from "../work/step.ts";
import { answerBody } from "./answers.ts";
import { lockResourceAndCredential } from "./lock-resource.ts";
import { resourceSealContext } from "./rows.ts";

const fail = statement(
  "fail_locally",
  `WITH failed AS (
     UPDATE resources SET state = 'failed', answer_status = 422, sealed_answer = $2, sealed_config = NULL,
       sealed_log_input_url = NULL, sealed_log_drain_token = NULL, updated_at = now()
     WHERE uuid = $1 AND state = 'provisioning' AND answer_status IS NOT NULL
       AND (NOT $3 OR EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = $1 AND c.state = 'grant_lost')) RETURNING uuid
   ), erased AS (
     UPDATE credentials c SET state = CASE WHEN c.state = 'grant_lost' THEN c.state ELSE 'erased' END,
       sealed_grant_code = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL, due_at = NULL,
       grant_deadline = NULL, lease = c.lease + 1, leased_until = NULL, sent_at = NULL
     FROM failed WHERE c.uuid = failed.uuid
   ), cancelled AS (DELETE FROM steps s USING failed WHERE s.uuid = failed.uuid RETURNING s.kind, s.leased_until
   ), cleaned AS (
     INSERT INTO steps (uuid, kind, due_at, leased_until)
     SELECT uuid, 'clean_up', now(), (SELECT max(leased_until) FROM cancelled WHERE ${isIn("vendor")}) FROM failed
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'failed' FROM failed RETURNING uuid`,
);

// Lost grants stay lost, and accumulate over the years: a sweep looks at this many, in the order of uuids, and the next
// one continues from there.
const LOOKED_AT = 5_000;
const stranded = statement(
  "find_stranded",
  `SELECT uuid, coalesce((SELECT r.state = 'provisioning' AND r.answer_status IS NOT NULL
     FROM resources r WHERE r.uuid = c.uuid), false) AS "isStranded"
   FROM credentials c WHERE state = 'grant_lost' AND uuid > $1 ORDER BY uuid LIMIT ${LOOKED_AT}`,
);

const MESSAGE = "Provisioning failed. Please remove the add-on and install it again.";

/**
 * Ends a provision that was put off and cannot be completed: stores a refusal, erases the secrets and writes a clean-up
 * step. The clean-up waits until a vendor's function that still runs has noticed. `onlyIfStranded`: only if its grant
 * was lost, without which the platform can never be told that it is done.
 */
export async function failProvision(
  { db, vault }: Pick<Context, "db" | "vault">,
  uuid: string,
  { onlyIfStranded = false } = {},
): Promise<void> {
  const sealed = vault.seal(
    resourceSealContext("sealed_answer", uuid),
    answerBody({ id: "provision_failed", message: MESSAGE }),
  );
  await db.transaction(async (tx) => {
    await lockResourceAndCredential(tx, uuid);
    await tx.query(fail, [uuid, sealed, onlyIfStranded]);
  });
}

/** Makes a function that finds put-off provisions whose grant was lost, some at each call, and fails them. */
export function createFailStranded(ctx: Pick<Context, "db" | "vault">): () => Promise<void> {
  let lookedUpTo = FIRST_UUID;
  return async () => {
    const lost = await ctx.db.query<{ uuid: string; isStranded: boolean }>(stranded, [lookedUpTo]);
    for (const { uuid, isStranded } of lost)
      if (isStranded) await failProvision(ctx, uuid, { onlyIfStranded: true });
    lookedUpTo = lost.length < LOOKED_AT ? FIRST_UUID : lost.at(-1)!.uuid;
  };
}
