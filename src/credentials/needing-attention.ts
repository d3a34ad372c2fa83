import type { State } from "./states.ts";

/** The most credentials counted per state. */
export const MOST_NEEDING_ATTENTION = 10_000;

const STATES: readonly State[] = ["grant_lost", "needs_reauth", "no_grant", "quarantined"];

/**
 * The most credentials read per state to find them: those of failed resources keep their state, and accumulate over the
 * years.
 */
const MOST_LOOKED_AT = 20_000;

/**
 * A sub-select for a FROM: the credentials that need a person. Only those of resources that neither failed nor are
 * gone, for there a customer waits. Each state has its own limit, so that the many of one do not hide the few of the
 * next.
 */
export const NEEDING_ATTENTION = `(${STATES.map(
  (state) =>
    `(SELECT uuid, state, reason FROM
       (SELECT uuid, state, reason FROM credentials WHERE state = '${state}' LIMIT ${MOST_LOOKED_AT}) looked_at
      WHERE EXISTS (SELECT 1 FROM resources r
        WHERE r.uuid = looked_at.uuid AND r.state IN ('provisioning', 'provisioned') OFFSET 0)
      LIMIT ${MOST_NEEDING_ATTENTION})`,
).join(" UNION ALL ")})`;
