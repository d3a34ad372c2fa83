import type { Log } from "../logging/log.ts";
import { foreignText } from "./foreign-text.ts";
import { openIncidents } from "./status.ts";
import type { Known, StatusWatch } from "./status-watch.ts";

/** An incident at the platform, as a log line carries it. */
export interface IncidentNote {
  incident: {
    id: number | string | null;
    title: string;
    full_url: string | null;
    /** How many more are open. */
    others?: number;
  };
}

/** An alarm carries what the feed said up to this long ago; the feed is asked again meanwhile. */
const FRESH_MS = 120_000;
/** An incident counts as open for this long after the feed's last answer, if the feed answers no more. */
const STALE_MS = 600_000;

/**
 * Finds the platform's incident that an alarm may come from. An alarm never waits for the feed: it carries the incident
 * that is known to be open. If none is known, the feed is asked in the background, and if one turns out to be open, that is
 * logged once, with the number of each alarm that was logged without it. What `ctx` has is used when an alarm comes.
 */
export function createIncidentNotes(ctx: {
  status: StatusWatch;
  log: Pick<Log, "warn">;
}): (alarm: string) => IncidentNote | null {
  const without = new Map<string, number>();
  let reporting: Promise<void> | null = null;

  function report(known: Known): void {
    const note = noteOf(known, STALE_MS);
    const alarms = Object.fromEntries(without);
    without.clear();
    reporting = null;
    if (note)
      ctx.log.warn({ ...note, alarms }, "An incident is open at the platform; these alarms may come from it");
  }

  return (alarm) => {
    const note = noteOf(ctx.status.known(), FRESH_MS);
    if (note) {
      void ctx.status.look(); // so that it stays fresh, or ends
    } else {
      without.set(alarm, (without.get(alarm) ?? 0) + 1);
      reporting ??= ctx.status.next().then(report);
    }
    return note;
  };
}

function noteOf({ last }: Known, maxAgeMs: number): IncidentNote | null {
  if (!last || Date.now() - last.at > maxAgeMs) return null;
  const [incident, ...others] = openIncidents(last.status) ?? [];
  if (!incident) return null;
  const { id, title, full_url: page } = incident;
  return {
    incident: {
      id,
      title: foreignText(title, []),
      full_url: page && foreignText(page, []),
      ...(others.length > 0 && { others: others.length }),
    },
  };
}
