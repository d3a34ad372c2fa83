import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { foreignText } from "./errors.ts";
import { currentStatus, openIncidents, type CurrentStatus, type Feed } from "./status.ts";

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
  /**
   * What an alarm's line says about an open incident, from which the alarm may come; null: none is known. An alarm never
   * waits for the feed, which is asked in the background: if that shows an open incident after alarms without it, one
   * line names it, with the number of each of those alarms.
   */
  noteOn(alarm: string): object | null;
  /** Ends a call in flight at once; no further call is made. */
  close(): void;
}

/** How often the feed's own content changes (platform document, "Limits"). */
const EVERY_MS = 30_000;
/** An alarm carries what the feed said up to this long ago. */
const FRESH_MS = 120_000;

export function createStatusWatch(feed: Feed, log: Pick<Log, "warn">, everyMs = EVERY_MS): StatusWatch {
  const closing = new AbortController();
  let known: Known = { last: null, failure: null };
  let askedAt = -Infinity;
  let asking: Promise<Known> | null = null;
  /** How many alarms of each kind named no incident since the feed's last answer. */
  const unexplained = new Map<string, number>();

  async function ask(): Promise<Known> {
    askedAt = performance.now();
    try {
      const { value } = await currentStatus(feed, closing.signal);
      known = { last: { status: value, at: Date.now() }, failure: null };
    } catch (error) {
      known = { ...known, failure: messageOf(error) };
    }
    asking = null;
    const note = noteOf(known);
    const alarms = Object.fromEntries(unexplained);
    if (note && unexplained.size > 0)
      log.warn({ ...note, alarms }, "An incident is open at the platform; these alarms may come from it");
    unexplained.clear();
    return known;
  }

  async function look(): Promise<Known> {
    if (asking) return asking;
    const isTooSoon = performance.now() - askedAt < everyMs;
    return isTooSoon || closing.signal.aborted ? known : (asking = ask());
  }

  return {
    known: () => known,
    look,
    noteOn(alarm) {
      const note = noteOf(known);
      if (!note) unexplained.set(alarm, (unexplained.get(alarm) ?? 0) + 1);
      void look();
      return note;
    },
    close: () => closing.abort(),
  };
}

function noteOf({ last }: Known) {
  if (!last || Date.now() - last.at > FRESH_MS) return null;
  const [incident, ...others] = openIncidents(last.status) ?? [];
  if (!incident) return null;
  const { id, title, full_url: page } = incident;
  return {
    incident: {
      ...{ id, title: foreignText(title, []), full_url: page && foreignText(page, []) },
      ...(others.length > 0 && { others: others.length }),
    },
  };
}
