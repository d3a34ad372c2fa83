/**
 * How rows are gathered for the statements before and after calls of the token endpoint (`createGroupCommit`). Dozens of
 * calls are in flight, and hardly anybody waits for a single one (a call that found its token dead does): twice as many
 * rows as usual may share a statement, which saves a tenth of a token pair's processor time. They wait for a few
 * milliseconds only, because a grant's tokens are lost if the process is killed before they are stored.
 */
export const BESIDE_CALLS = { maxRows: 500, maxQueued: 20_000, enough: 32, behindMs: 5 };
