import { isJsonObject, type JsonObject } from "../values.ts";
import { askOnce, type Http } from "./http.ts";
import { path, type Path } from "./path.ts";
import { messageOf } from "../errors.ts";
import { sharedFor } from "../within.ts";
import { foreignText } from "./errors.ts";

// The platform's public status feed, version 4 (platform document, "Status feed"). Read are the members that the kit
// shows or decides on, as far as they can be read: a list that is missing is empty, a text that is missing is empty or
// null. All words (states, types, the status of a system) are open sets, and times are ISO 8601, UTC.

/** An answer of the feed: its JSON as it came, and what we read of it. */
type Told<T> = { json: unknown; value: T };

export type CurrentStatus = NonNullable<ReturnType<typeof statusIn>>;
export type Incident = ReturnType<typeof read>;

type Feed = { http: Http; statusUrl: string };

/**
 * How the platform's systems are. Aborting `signal` ends the call at once; none takes longer than 5 s. No credentials
 * are sent. Rejects with `PlatformRefused`, `UnreadableAnswer` or a `TransportError`; nothing is tried twice.
 */
export function currentStatus(feed: Feed, signal?: AbortSignal): Promise<Told<CurrentStatus>> {
  return ask(feed, path`/api/v4/current-status`, statusIn, "the current status", signal);
}

/** The incidents since a date (`YYYY-MM-DD`), as many as `perPage`. Rejects like {@link currentStatus}. */
export function incidents(
  feed: Feed,
  { since, perPage }: { since?: string | undefined; perPage?: number | undefined } = {},
): Promise<Told<Incident[]>> {
  const query = new URLSearchParams({ ...(since && { since }), ...(perPage && { per_page: `${perPage}` }) });
  const search = query.size > 0 ? `?${query}` : "";
  return ask(feed, `${path`/api/v4/incidents`}${search}` as Path, incidentsIn, "a list of incidents");
}

export function incident(feed: Feed, id: string): Promise<Told<Incident>> {
  const readOne = (json: unknown) => (isJsonObject(json) ? read(json) : null);
  return ask(feed, path`/api/v4/incidents/${id}`, readOne, "an incident");
}

/** The unresolved incidents, the most recently changed first; null: the answer has no list of incidents. */
export function openIncidents({ incidents: all }: CurrentStatus): Incident[] | null {
  const open = all && all.filter(({ resolved }) => !resolved);
  return open && latestFirst(open, ({ updated_at, created_at }) => updated_at ?? created_at);
}

/** The latest update, if there is one. In which order the feed lists updates, the platform's document does not say. */
export function latestUpdate({ updates }: Incident): Incident["updates"][number] | undefined {
  return latestFirst(updates, ({ created_at }) => created_at)[0];
}

function latestFirst<T>(all: readonly T[], timeOf: (each: T) => string | null): T[] {
  const at = (each: T) => Date.parse(timeOf(each) ?? "") || 0;
  return all.toSorted((one, other) => at(other) - at(one));
}

function ask<T>(
  { http, statusUrl }: Feed,
  below: Path,
  valueIn: (json: unknown) => T | null,
  expected: string,
  signal?: AbortSignal,
): Promise<Told<T>> {
  return askOnce(http, {
    ...{ method: "GET", url: statusUrl + below, headers: { accept: "application/json" } },
    ...{ timeoutMs: 5_000, expected, ...(signal && { signal }) },
    read(json) {
      const value = valueIn(json);
      return value === null ? null : { json, value };
    },
  });
}

function statusIn(json: unknown) {
  if (!isJsonObject(json)) return null;
  const { status, incidents: all, scheduled } = json;
  if (!Array.isArray(status) && !Array.isArray(all)) return null;
  return {
    status: objects(status).map((each) => ({ system: text(each["system"]), status: text(each["status"]) })),
    /** Null: the answer has no such list; incidents may be open all the same. */
    incidents: incidentsIn(all),
    /** Maintenance that is planned, or going on. Where it may say when it ends is not documented. */
    scheduled: objects(scheduled).map((each) => {
      const ends = [each["resolved_at"], each["ends_at"], each["scheduled_until"]].map(time);
      return {
        ...read(each),
        resolved: isMarkedOver(each) || ends.some((end) => Date.parse(end ?? "") <= Date.now()),
      };
    }),
  };
}

const incidentsIn = (json: unknown) => (Array.isArray(json) ? objects(json).map(read) : null);

function read(json: JsonObject) {
  const { id } = json;
  const resolvedAt = time(json["resolved_at"]);
  return {
    id: Number.isSafeInteger(id) ? (id as number) : text(id) || null,
    title: text(json["title"]),
    state: text(json["state"]) || null,
    created_at: time(json["created_at"]),
    updated_at: time(json["updated_at"]),
    /** Whether it is over, as any of its members says. */
    resolved: isMarkedOver(json) || resolvedAt !== null,
    resolved_at: resolvedAt,
    /** The page for people. */
    full_url: text(json["full_url"]) || null,
    updates: objects(json["updates"]).map((each) => ({
      ...{ created_at: time(each["created_at"]), update_type: text(each["update_type"]) || null },
      ...{ title: text(each["title"]), contents: text(each["contents"]) },
    })),
  };
}

/** `resolved: false` was seen beside `state: "resolved"` (assumed, section 5). */
function isMarkedOver({ resolved, state }: JsonObject): boolean {
  return resolved === true || ["resolved", "complete", "completed"].includes(text(state));
}

const objects = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const text = (value: unknown) => (typeof value === "string" ? value : "");

function time(value: unknown): string | null {
  const ms = Date.parse(text(value));
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

interface Known {
  /** What the feed said last, and when (milliseconds since 1970); null: it has never answered. */
  last: { status: CurrentStatus; at: number } | null;
  /** Why the last call brought nothing; null: it did, or there was none. */
  failure: string | null;
}

/**
 * The status feed for a whole process. It is asked on demand only, once for all callers that wait, and at most every 30
 * s (platform document, "Limits"), also after a failure. Nothing here ever throws.
 */
export type StatusWatch = ReturnType<typeof createStatusWatch>;

/** An alarm carries what the feed said up to this long ago. */
const FRESH_MS = 120_000;

export function createStatusWatch(feed: Feed, everyMs = 30_000) {
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
