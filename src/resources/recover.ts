import { statement, type Queryable } from "../database/database.ts";
import type { NoGrant, OauthGrantEndpoint } from "../platform/oauth-grant.ts";
import type { Vault } from "../vault/vault.ts";
import { credentialSealContext } from "../credentials/opening.ts";
import { GRANT_SECONDS, readTime } from "./grant-time.ts";

/**
 * The outcome of asking for a resource's grant. `stored`: the grant's code is sealed and due at once; it is exchanged
 * like any other. `not_wanted`: meanwhile the resource was deprovisioned, or has got a grant or tokens.
 */
export type Recovery = { outcome: "stored" } | { outcome: "not_wanted" } | NoGrant;

/**
 * SQL condition for the rows (a credential `c` of a resource `r`) that may get another grant. A put-off provision whose
 * grant was lost has failed or is about to, and gets none; one that came without a grant still waits for it.
 */
export const IS_RECOVERABLE = `(c.state IN ('grant_lost', 'no_grant', 'needs_reauth') AND r.state = 'provisioned'
  OR c.state = 'no_grant' AND r.state = 'provisioning' AND r.answer_status IS NOT NULL)`;

// As for a repeated provision, but due at once: the platform has long had our answer. The statement checks the state
// again, so that two commands at the same moment, or a command and a redelivery, result in one grant. Existing tokens
// stay until new ones replace them: an access token may still work after its refresh token was refused.
const store = statement(
  "recover_grant",
  `WITH recovered AS (
     UPDATE credentials c SET state = 'grant_pending', reason = NULL, sealed_grant_code = $2, grant_expires_at = $3,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds', due_at = now(),
       attempts = 0, outcome_unknown = false, sent_at = NULL, rejected_at = NULL, last_error = NULL
     FROM resources r WHERE c.uuid = $1 AND r.uuid = c.uuid AND ${IS_RECOVERABLE} RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_recovered' FROM recovered RETURNING uuid`,
);

const isWanted = statement(
  "is_grant_wanted",
  `SELECT c.uuid FROM credentials c JOIN resources r USING (uuid) WHERE c.uuid = $1 AND ${IS_RECOVERABLE}`,
);

/**
 * Asks the legacy oauth-grant endpoint for a resource's grant and stores it (platform document, "Oauth-grant
 * retrieval").
 */
export type Recover = (uuid: string) => Promise<Recovery>;

export function createRecover({
  db,
  vault,
  endpoint,
}: {
  db: Queryable;
  vault: Vault;
  endpoint: OauthGrantEndpoint;
}): Recover {
  return async (uuid) => {
    const answer = await endpoint.grantOf(uuid);
    if (answer.outcome === "already_exchanged" || answer.outcome === "unknown") {
      // Another command may have exchanged the grant meanwhile, or a deprovision removed the resource.
      return (await db.query(isWanted, [uuid])).length > 0 ? answer : { outcome: "not_wanted" };
    }
    if (answer.outcome !== "grant") return answer;
    const { code, expiresAt } = answer.grant;
    const sealed = vault.seal(credentialSealContext("sealed_grant_code", uuid), code);
    const stored = await db.query(store, [uuid, sealed, readTime(expiresAt)]);
    return { outcome: stored.length > 0 ? "stored" : "not_wanted" };
  };
}
