import { claim } from "./claim.ts";
import { dev } from "./dev.ts";
import { endToEnd } from "./end-to-end.ts";
import { growthOfProcesses, growthOfResources } from "./growth.ts";
import { mixed } from "./mixed.ts";
import { processOfWeb } from "./process.ts";
import {
  provision200,
  provision202,
  provisionFacts,
  provisionMany,
  provisionTwin,
  slowDisk,
} from "./provision.ts";
import { refreshFast, refreshSlow } from "./refresh.ts";
import { reseal } from "./reseal.ts";
import { tests } from "./tests.ts";
import type { Work } from "./work.ts";

/** All works, in the order of the report. */
export const works: readonly Work[] = [
  ...[provision202, provisionMany, provision200, provisionFacts, slowDisk, provisionTwin, endToEnd],
  ...[refreshSlow, refreshFast, reseal, claim],
  ...[processOfWeb, dev, mixed],
  ...[growthOfProcesses, growthOfResources],
  tests,
];
