import { askOnce } from "./ask-once.ts";
import type { Http } from "./http.ts";
import { baseAddress, path, type Path } from "./path.ts";
import { readCurrentStatus, readIncident, readIncidents } from "./status-reading.ts";
import type { CurrentStatus, Incident } from "./status-types.ts";

export type * from "./status-types.ts";

/** An answer of the feed: its JSON as it came, and what we read from it. */
export interface Told<T> {
  json: unknown;
  value: T;
}

export interface IncidentsQuery {
  /** A date, `YYYY-MM-DD`. */
  since?: string | undefined;
  perPage?: number | undefined;
}

/** The platform's public status feed. */
export interface StatusFeed {
  /** Aborting `signal` ends the call at once. */
  current(signal?: AbortSignal): Promise<Told<CurrentStatus>>;
  incidents(query?: IncidentsQuery): Promise<Told<Incident[]>>;
  incident(id: string): Promise<Told<Incident>>;
}

/** A call to the feed takes no longer than this. */
const MOST_MS = 5_000;
const MOST_BYTES = 1_000_000;

/**
 * Follows the platform document, "Status feed" (version 4). No credentials are sent. Rejects with `PlatformRefused`,
 * `UnreadableAnswer` or a `TransportError`, after 5 s at most; nothing is tried twice.
 */
export function createStatusFeed({
  http,
  statusUrl,
  timeoutMs = MOST_MS,
}: {
  http: Http;
  statusUrl: string;
  timeoutMs?: number;
}): StatusFeed {
  function ask<T>(
    below: Path,
    read: (json: unknown) => T | undefined,
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
        const value = read(json);
        return value === undefined ? undefined : { json, value };
      },
    });
  }

  return {
    current: (signal) =>
      ask(path`/api/v4/current-status`, readCurrentStatus, "the current status", { signal }),
    incidents: ({ since, perPage } = {}) =>
      ask(path`/api/v4/incidents`, readIncidents, "a list of incidents", {
        query: { ...(since && { since }), ...(perPage && { per_page: String(perPage) }) },
      }),
    incident: (id) => ask(path`/api/v4/incidents/${id}`, readIncident, "an incident"),
  };
}

/** The unresolved incidents, the most recently changed first; null: the answer has no list of incidents. */
export function openIncidents({ incidents }: CurrentStatus): Incident[] | null {
  const changed = ({ updated_at, created_at }: Incident) => Date.parse(updated_at ?? created_at ?? "") || 0;
  return (
    incidents &&
    incidents.filter(({ resolved }) => !resolved).sort((one, other) => changed(other) - changed(one))
  );
}
