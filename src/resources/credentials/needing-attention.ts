/** Of each state so many credentials are looked at. */
export const MOST_NEEDING_ATTENTION = 10_000;

const STATES = ["grant_lost", "needs_reauth", "no_grant", "quarantined"];

/**
 * The credentials that need a person, to stand in a FROM: of each state a bounded part, or the many of one would hide the
 * few of the next. Whether anybody waits for them their resources say.
 */
export const NEEDING_ATTENTION = `(${STATES.map(
  (state) =>
    `(SELECT uuid, state, reason FROM credentials WHERE state = '${state}' LIMIT ${MOST_NEEDING_ATTENTION})`,
).join(" UNION ALL ")})`;
