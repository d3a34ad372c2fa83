import { isJsonObject, type JsonObject } from "../json-object.ts";
import { askOnce } from "./ask-once.ts";
import type { Http } from "./http.ts";
import { baseAddress, path, type Path } from "./path.ts";
import type { Open } from "./types.ts";

// The platform's public status feed, version 4 (platform document, "Status feed"). Read are the members that the kit
// shows or decides on, as far as they can be read: a list that is missing is empty, a text that is missing is empty or
// null. Everything else of an answer stands in `json`.

/** An answer of the feed: its JSON as it came, and what we read of it. */
export interface Told<T> {
  json: unknown;
  value: T;
}

export interface CurrentStatus {
  status: { system: string; status: SystemStatus }[];
  /** Null: the answer has no such list; incidents may be open all the same. */
  incidents: Incident[] | null;
  /** Maintenance that is planned, or going on. */
  scheduled: Incident[];
}

/** Only `green` is documented; the others are what such feeds use for the icons of the status site. */
export type SystemStatus = Open<"green" | "yellow" | "red" | "blue">;

/** Times are ISO 8601, UTC. */
export interface Incident {
  id: number | string | null;
  title: string;
  state: Open<"resolved"> | null;
  created_at: string | null;
  updated_at: string | null;
  /** Whether it is over, as any of its members says. */
  resolved: boolean;
  resolved_at: string | null;
  /** The page for people. */
  full_url: string | null;
  systems: { name: string; status: SystemStatus; services: string[] }[];
  updates: IncidentUpdate[];
}

export interface IncidentUpdate {
  created_at: string | null;
  title: string;
  contents: string;
  update_type: Open<"resolved" | "retroactive"> | null;
}

export interface IncidentsQuery {
  /** A date, `YYYY-MM-DD`. */
  since?: string | undefined;
  perPage?: number | undefined;
}

/** Where the feed is asked. */
export interface Feed {
  http: Http;
  statusUrl: string;
  /** A call takes no longer than this; 5 s unless given. */
  timeoutMs?: number;
}

const MOST_MS = 5_000;
const MOST_BYTES = 1_000_000;

/**
 * How the platform's systems are. Aborting `signal` ends the call at once. No credentials are sent. Rejects with
 * `PlatformRefused`, `UnreadableAnswer` or a `TransportError`; nothing is tried twice.
 */
export function currentStatus(feed: Feed, signal?: AbortSignal): Promise<Told<CurrentStatus>> {
  return ask(feed, path`/api/v4/current-status`, statusIn, "the current status", { signal });
}

/** Rejects like {@link currentStatus}. */
export function incidents(feed: Feed, { since, perPage }: IncidentsQuery = {}): Promise<Told<Incident[]>> {
  const query = { ...(since && { since }), ...(perPage && { per_page: String(perPage) }) };
  return ask(feed, path`/api/v4/incidents`, incidentsIn, "a list of incidents", { query });
}

/** Rejects like {@link currentStatus}. */
export function incident(feed: Feed, id: string): Promise<Told<Incident>> {
  return ask(feed, path`/api/v4/incidents/${id}`, incidentIn, "an incident");
}

/** The unresolved incidents, the most recently changed first; null: the answer has no list of incidents. */
export function openIncidents({ incidents: all }: CurrentStatus): Incident[] | null {
  const changed = ({ updated_at, created_at }: Incident) => Date.parse(updated_at ?? created_at ?? "") || 0;
  return all && all.filter(({ resolved }) => !resolved).sort((one, other) => changed(other) - changed(one));
}

function ask<T>(
  { http, statusUrl, timeoutMs = MOST_MS }: Feed,
  below: Path,
  valueIn: (json: unknown) => T | undefined,
  expected: string,
  { query = {}, signal }: { query?: Record<string, string>; signal?: AbortSignal | undefined } = {},
): Promise<Told<T>> {
  const url = new URL(baseAddress(statusUrl) + below);
  url.search = new URLSearchParams(query).toString();
  return askOnce(http, {
    ...{ method: "GET", url, headers: { accept: "application/json" } },
    ...{ timeoutMs, maxBytes: MOST_BYTES, ...(signal && { signal }) },
    expected,
    read(json) {
      const value = valueIn(json);
      return value === undefined ? undefined : { json, value };
    },
  });
}

function statusIn(json: unknown): CurrentStatus | undefined {
  if (!isJsonObject(json)) return undefined;
  const { status, incidents: all, scheduled } = json;
  if (!Array.isArray(status) && !Array.isArray(all)) return undefined;
  return {
    status: objects(status).map((each) => ({ system: text(each["system"]), status: text(each["status"]) })),
    incidents: incidentsIn(all) ?? null,
    scheduled: objects(scheduled).map((each) => ({
      ...read(each),
      resolved: isMarkedOver(each) || ENDS.some((end) => Date.parse(time(each[end]) ?? "") <= Date.now()),
    })),
  };
}

/** Where a maintenance may say when it ends; no name is documented. */
const ENDS = ["resolved_at", "ends_at", "scheduled_until"];

function incidentsIn(json: unknown): Incident[] | undefined {
  return Array.isArray(json) ? objects(json).map(read) : undefined;
}

function incidentIn(json: unknown): Incident | undefined {
  return isJsonObject(json) ? read(json) : undefined;
}

function read(json: JsonObject): Incident {
  const { id } = json;
  const resolvedAt = time(json["resolved_at"]);
  return {
    id: Number.isSafeInteger(id) ? (id as number) : text(id) || null,
    title: text(json["title"]),
    state: text(json["state"]) || null,
    created_at: time(json["created_at"]),
    updated_at: time(json["updated_at"]),
    resolved: isMarkedOver(json) || resolvedAt !== null,
    resolved_at: resolvedAt,
    full_url: text(json["full_url"]) || null,
    systems: objects(json["systems"]).map((each) => ({
      ...{ name: text(each["name"]), status: text(each["status"]) },
      services: list(each["services"]).filter((name) => typeof name === "string"),
    })),
    updates: objects(json["updates"]).map((each) => ({
      ...{
        created_at: time(each["created_at"]),
        title: text(each["title"]),
        contents: text(each["contents"]),
      },
      update_type: text(each["update_type"]) || null,
    })),
  };
}

/** `resolved: false` was seen beside `state: "resolved"` (assumed, section 5). */
function isMarkedOver({ resolved, state }: JsonObject): boolean {
  return resolved === true || ["resolved", "complete", "completed"].includes(text(state));
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function objects(value: unknown): JsonObject[] {
  return list(value).filter(isJsonObject);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function time(value: unknown): string | null {
  const ms = Date.parse(text(value));
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
