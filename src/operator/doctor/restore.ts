import type { OpenContext } from "../../context.ts";
import { type Contradicted, findSuspicion } from "../../ledgers/suspicion-store.ts";
import { HOLDS } from "../../processes/history.ts";
import { readHistory } from "../../processes/history-store.ts";
import { moment } from "../wording.ts";
import { fault, type Finding, fine, warning } from "./finding.ts";

/** Whether the database was restored, or a standby took over. `kit doctor` and the operator's overview say the same. */
export async function restore({ db }: Pick<OpenContext, "db">): Promise<Finding[]> {
  const seen = await readHistory(db);
  const fix =
    "Compare the ledgers, and then end the hold: kit after-restore (docs/operate.md, After a restore).";
  if (seen?.isLoaded) return [fault(`The database was loaded from a dump. ${HOLDS}.`, fix)];
  if (seen?.isHeld)
    return [
      fault(
        `The database was restored, as was noticed at ${moment(seen.restoredAt!)} (UTC): ${seen.because}. ${HOLDS}.`,
        fix,
      ),
    ];
  const suspicion = await findSuspicion(db);
  if (suspicion)
    return [
      fault(
        `The platform contradicts several rows of the database: ${contradicted(suspicion)}. Was it restored while no process ran?`,
        `If it was: kit after-restore (docs/operate.md, After a restore). If not, perhaps the platform was: kit reconcile.`,
      ),
    ];
  if (seen?.isPromotedLately)
    return [
      warning(
        `A standby of the database was promoted, as was noticed at ${moment(seen.promotedAt!)} (UTC). What it had not yet received is lost.`,
        "Unless it was synchronous: kit reconcile (docs/operate.md, After a failover). This line ends by itself after a day.",
      ),
    ];
  return [fine("The database has kept what was written.")];
}

const contradicted = ({ ended, unknown, otherPlan }: Contradicted): string =>
  `${ended} ended there, ${unknown} never provisioned here, ${otherPlan} on another plan, all noticed within a day`;
