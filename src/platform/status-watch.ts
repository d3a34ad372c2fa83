import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { foreignText } from "./api-errors.ts";
import { openIncidents, type CurrentStatus, type Told } from "./status.ts";

/** What is known of the platform's status. */
export interface Known {
  /** What the feed said last, and when (milliseconds since 1970); null: it has never answered. */
  last: { status: CurrentStatus; at: number } | null;
  /** Why the last call brought nothing; null: it did, or there was none. */
  failure: string | null;
}

/**
 * The status feed for a whole process. It is asked on demand only, once for all callers that wait, and at most every 30
 * s, also after a failure, so that a feed which is down or hangs costs next to nothing. Nothing here ever throws.
 */
export interface StatusWatch {
  /** What is known, without asking the feed. */
  known(): Known;
  /** Asks the feed, if the last call is long enough ago; otherwise resolves with what is known. */
  look(): Promise<Known>;
  /** Ends a call in flight at once; no further call is made. */
  close(): void;
}

/** How often the feed's own content changes (platform document, "Limits"). */
const EVERY_MS = 30_000;

/** `ask` asks the feed once. */
export function createStatusWatch(
  ask: (signal: AbortSignal) => Promise<Told<CurrentStatus>>,
  everyMs = EVERY_MS,
): StatusWatch {
  const closing = new AbortController();
  let known: Known = { last: null, failure: null };
  let askedAt = -Infinity;
  let asking: Promise<Known> | null = null;

  async function call(): Promise<Known> {
    askedAt = performance.now();
    try {
      const { value } = await ask(closing.signal);
      known = { last: { status: value, at: Date.now() }, failure: null };
    } catch (error) {
      known = { ...known, failure: messageOf(error) };
    }
    asking = null;
    return known;
  }

  return {
    known: () => known,
    async look() {
      if (asking) return asking;
      const isTooSoon = performance.now() - askedAt < everyMs;
      return isTooSoon || closing.signal.aborted ? known : (asking = call());
    },
    close: () => closing.abort(),
  };
}

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
 * that is known to be open, and the feed is asked in the background. If that shows an open incident after alarms
 * without it, one line names it, with the number of each of those alarms.
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
    const asked = ctx.status.look();
    if (note) return note;
    without.set(alarm, (without.get(alarm) ?? 0) + 1);
    reporting ??= asked.then(report);
    return null;
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
