/** What `kit` exits with. Scripts rely on it. */
export const DONE = 0;
export const FAILED = 1;
export const USED_WRONGLY = 2;
export const MISCONFIGURED = 78;
