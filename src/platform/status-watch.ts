import { messageOf } from "../errors.ts";
import { sharedFor } from "../within.ts";
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
export type StatusWatch = ReturnType<typeof createStatusWatch>;

/** How often the feed's own content changes (platform document, "Limits"). */
const EVERY_MS = 30_000;
/** An alarm carries what the feed said up to this long ago. */
const FRESH_MS = 120_000;

export function createStatusWatch(feed: Feed, everyMs = EVERY_MS) {
  const closing = new AbortController();
  let known: Known = { last: null, failure: null };

  /** Asks the feed, if the last call is long enough ago; resolves with what is known. */
  const look = sharedFor(everyMs, async () => {
    try {
      const { value } = await currentStatus(feed, closing.signal);
      known = { last: { status: value, at: Date.now() }, failure: null };
    } catch (error) {
      known = { ...known, failure: messageOf(error) };
    }
    return known;
  });

  return {
    look,
    /**
     * What an alarm's line says about an open incident, from which the alarm may come; null: none is known. An alarm
     * does not wait for the feed, which is asked for those that follow.
     */
    note(): object | null {
      void look();
      return noteOf(known);
    },
    /** Ends a call in flight at once. */
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
