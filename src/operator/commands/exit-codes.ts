/** The exit codes of `kit`. Scripts rely on them. */
export const DONE = 0;
export const FAILED = 1;
export const USED_WRONGLY = 2;
/** The command was done and its outcome printed, but something could not be closed at the end: do not run it again. */
export const DONE_NOT_CLOSED = 3;
export const MISCONFIGURED = 78;
