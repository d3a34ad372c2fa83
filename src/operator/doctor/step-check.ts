import { ALARM_AFTER_ATTEMPTS } from "../../resources/steps/runner.ts";
import type { Services } from "../../services.ts";
import { failingSteps, SEVERAL_TRIES } from "../waiting-steps.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

/** Whether work that was put off fails again and again: a fault once the log has raised its alarm. */
export async function steps({ db }: Services): Promise<Finding> {
  const { count, kinds, mostTries, someUuids } = await failingSteps(db);
  if (count === 0) return fine("No step of put-off work keeps failing.");
  const message = `${counted(count, "step")} failed ${SEVERAL_TRIES} times or more: ${kinds.join(", ")}.`;
  const shown = someUuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");
  const fix = `Read the last error, and mend it; the next try follows by itself: ${shown}`;
  return mostTries >= ALARM_AFTER_ATTEMPTS ? fault(message, fix) : warning(message, fix);
}
