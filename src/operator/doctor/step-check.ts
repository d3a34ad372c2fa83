import type { OpenContext } from "../../open-context.ts";
import { FAILING, failingSteps } from "../waiting-steps.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

/**
 * Checks for put-off steps that keep failing or never end. A fault once their alarm has been logged, before that a
 * warning.
 */
export async function steps({ db }: OpenContext): Promise<Finding> {
  const { count, kinds, isAlarm, someUuids } = await failingSteps(db);
  if (count === 0) return fine("All put-off work comes to its end.");
  const message = `${counted(count, "step")} ${FAILING}: ${kinds.join(", ")}.`;
  const shown = someUuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");
  const fix = `Read what came of the last try, and mend it; the next follows by itself: ${shown}`;
  return isAlarm ? fault(message, fix) : warning(message, fix);
}
