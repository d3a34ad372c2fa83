import { isJsonObject, type JsonObject } from "../values.ts";
import { askOnce, type Http } from "./call.ts";
import { type Path, path } from "./path.ts";

// The platform's public status feed, version 4 (platform document, "Status feed"). Only the members that the kit shows or
// decides on are read: a missing list is empty, a missing text is empty or `null`. All words (states, types, the status of a
// system) are open sets, and times are ISO 8601, UTC.

/** An answer of the feed: its JSON as received, and the value that was read from it. */
type FeedAnswer<T> = { json: unknown; value: T };

export type CurrentStatus = NonNullable<ReturnType<typeof statusIn>>;
export type Incident = ReturnType<typeof read>;

type Feed = { http: Http; statusUrl: string };

// No credentials are sent, and nothing is tried twice. Each call rejects with `PlatformRefused`, `UnreadableAnswer` or a
// `TransportError`, after 5 s at most.

/** The status of the platform's systems, the incidents and the planned maintenance. */
export const currentStatus = (feed: Feed): Promise<FeedAnswer<CurrentStatus>> =>
  ask(feed, path`/api/v4/current-status`, statusIn, "the current status");

/** The incidents since a date (`YYYY-MM-DD`), as many as `perPage`. */
export function incidents(
  feed: Feed,
  { since, perPage }: { since?: string | undefined; perPage?: number | undefined } = {},
): Promise<FeedAnswer<Incident[]>> {
  const query = new URLSearchParams({ ...(since && { since }), ...(perPage && { per_page: `${perPage}` }) });
  const search = query.size > 0 ? `?${query}` : "";
  return ask(feed, `${path`/api/v4/incidents`}${search}` as Path, incidentsIn, "a list of incidents");
}

export function incident(feed: Feed, id: string): Promise<FeedAnswer<Incident>> {
  const readOne = (json: unknown) => (isJsonObject(json) ? read(json) : null);
  return ask(feed, path`/api/v4/incidents/${id}`, readOne, "an incident");
}

/** The unresolved incidents; `null` if the answer has no list of incidents. */
export const openIncidents = ({ incidents: all }: CurrentStatus): Incident[] | null =>
  all && all.filter(({ resolved }) => !resolved);

function ask<T>(
  { http, statusUrl }: Feed,
  below: Path,
  valueIn: (json: unknown) => T | null,
  expected: string,
): Promise<FeedAnswer<T>> {
  return askOnce(http, {
    method: "GET",
    url: statusUrl + below,
    headers: { accept: "application/json" },
    timeoutMs: 5_000,
    expected,
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
    /** `null` if the answer has no such list. Incidents may still be open. */
    incidents: incidentsIn(all),
    /** Maintenance that is planned or has begun. The member with its end is not documented. */
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
  return {
    id: Number.isSafeInteger(id) ? (id as number) : text(id) || null,
    title: text(json["title"]),
    state: text(json["state"]) || null,
    created_at: time(json["created_at"]),
    /** Whether any member shows that the incident is over. */
    resolved: isMarkedOver(json) || time(json["resolved_at"]) !== null,
    updates: objects(json["updates"]).map((each) => ({
      created_at: time(each["created_at"]),
      update_type: text(each["update_type"]) || null,
      contents: text(each["contents"]),
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
