import { provision200, provision202, provisionTwin } from "./provision.ts";
import { refreshFast, refreshSlow } from "./refresh.ts";
import type { Work } from "./work.ts";

/** Everything that is measured, in the order of the report. */
export const works: readonly Work[] = [provision202, provision200, provisionTwin, refreshSlow, refreshFast];
