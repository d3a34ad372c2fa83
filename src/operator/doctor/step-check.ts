import type { Services } from "../../services.ts";
import { FAILING, failingSteps } from "../waiting-steps.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

/** Whether work that was put off fails again and again, or never ends: a fault once the log has raised its alarm. */
export async function steps({ db }: Services): Promise<Finding> {
  const { count, kinds, isAlarm, someUuids } = await failingSteps(db);
  if (count === 0) return fine("All put-off work comes to its end.");
  const message = `${counted(count, "step")} ${FAILING}: ${kinds.join(", ")}.`;
  const shown = someUuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");
  const fix = `Read what came of the last try, and mend it; the next follows by itself: ${shown}`;
  return isAlarm ? fault(message, fix) : warning(message, fix);
}
