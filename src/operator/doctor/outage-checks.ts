import { lostProvisions } from "../../resources/lost-provisions.ts";
import type { OpenContext } from "../../open-context.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

/** Compares the clocks of the database, the platform and this process. */
export async function clocks(services: OpenContext): Promise<Finding> {
  await services.clocks.look();
  return clocksNow(services);
}

/** The same, as they were last seen. */
export function clocksNow({ clocks }: OpenContext): Finding {
  const trouble = clocks.trouble();
  if (!trouble) return fine("No two clocks are more than a minute apart.");
  return fault(
    trouble,
    "Set the clock that is wrong (NTP). Meanwhile sign-ons from the dashboard are refused, and times are wrong.",
  );
}

/** Tells of provisions that were answered with an error of ours. */
export async function lost({ db }: OpenContext): Promise<Finding> {
  const { length } = await lostProvisions(db);
  if (length === 0) return fine("No provision was lost within 30 days.");
  return warning(
    `${counted(length, "provision")} ${length === 1 ? "was" : "were"} lost within 30 days.`,
    "Their customers have no add-on, and may not know why: write to them, or to the platform's support. See them: kit resources lost",
  );
}
