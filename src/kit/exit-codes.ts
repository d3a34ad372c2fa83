/** The exit codes of `kit`. Scripts rely on them. */
export const DONE = 0;
export const FAILED = 1;
export const USED_WRONGLY = 2;
export const MISCONFIGURED = 78;
