/** Of each state so many credentials are counted. */
export const MOST_NEEDING_ATTENTION = 10_000;

const STATES = ["grant_lost", "needs_reauth", "no_grant", "quarantined"];

/** Among so many: those of resources that failed keep their state, and add up over the years. */
const MOST_LOOKED_AT = 20_000;

/**
 * The credentials that need a person, to stand in a FROM: those for which a customer waits, for a resource that failed or
 * is gone needs nobody. Of each state a bounded part, or the many of one would hide the few of the next.
 */
export const NEEDING_ATTENTION = `(${STATES.map(
  (state) =>
    `(SELECT uuid, state, reason FROM
       (SELECT uuid, state, reason FROM credentials WHERE state = '${state}' LIMIT ${MOST_LOOKED_AT}) looked_at
      WHERE EXISTS (SELECT 1 FROM resources r
        WHERE r.uuid = looked_at.uuid AND r.state IN ('provisioning', 'provisioned') OFFSET 0)
      LIMIT ${MOST_NEEDING_ATTENTION})`,
).join(" UNION ALL ")})`;
