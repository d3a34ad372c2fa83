/** Teapots need no settings. */
export const yourSettings = {};
