import type { OpenContext } from "../../context.ts";
import { type Contradicted, findSuspicion } from "../../ledgers/suspicion-store.ts";
import { HOLDS } from "../../processes/history.ts";
import { readHistory } from "../../processes/history-store.ts";
import { type Finding, fine, found } from "./finding.ts";

/** Whether the database was restored, or a standby took over. `kit doctor` and the operator's overview say the same. */
export async function restore({ db }: Pick<OpenContext, "db">): Promise<Finding[]> {
  const seen = await readHistory(db);
  if (seen?.isLoaded)
    return [found("database_restored", { words: `The database was loaded from a dump. ${HOLDS}.` })];
  if (seen?.isHeld) {
    const words = `The database was restored: ${seen.because}. ${HOLDS}.`;
    return [found("database_restored", { words }, { since: seen.restoredAt! })];
  }
  const suspicion = await findSuspicion(db);
  if (suspicion) {
    const since = suspicion.since.toISOString();
    return [found("restore_suspected", { contradicted: contradicted(suspicion) }, { since })];
  }
  if (seen?.isPromotedLately) return [found("standby_promoted", {}, { since: seen.promotedAt! })];
  return [fine("The database has kept what was written.")];
}

const contradicted = ({ ended, unknown, otherPlan }: Contradicted): string =>
  `${ended} ended there, ${unknown} never provisioned here, ${otherPlan} on another plan`;
