import { isJsonObject, type JsonObject } from "../json-object.ts";
import type { AffectedSystem, CurrentStatus, Incident, IncidentUpdate } from "./status-types.ts";

// Tolerant readers of the feed's answers: what can be read is kept, the rest is left out. They return undefined only if
// the answer is something else than was asked for.

export function readCurrentStatus(json: unknown): CurrentStatus | undefined {
  if (!isJsonObject(json)) return undefined;
  const { status, incidents, scheduled } = json;
  if (!Array.isArray(status) && !Array.isArray(incidents)) return undefined;
  return {
    ...json,
    status: objects(status).map((each) => ({
      ...each,
      system: text(each["system"]),
      status: text(each["status"]),
    })),
    incidents: readIncidents(incidents) ?? null,
    scheduled: objects(scheduled).map((each) => ({
      ...readIncident(each)!,
      resolved: isMarkedOver(each) || ENDS.some((end) => Date.parse(time(each[end]) ?? "") <= Date.now()),
    })),
  };
}

export function readIncidents(json: unknown): Incident[] | undefined {
  return Array.isArray(json) ? listOfIncidents(json) : undefined;
}

export function readIncident(json: unknown): Incident | undefined {
  if (!isJsonObject(json)) return undefined;
  const resolvedAt = time(json["resolved_at"]);
  return {
    ...json,
    id: wholeNumber(json["id"]) ?? (text(json["id"]) || null),
    title: text(json["title"]),
    state: text(json["state"]) || null,
    created_at: time(json["created_at"]),
    updated_at: time(json["updated_at"]),
    resolved: isMarkedOver(json) || resolvedAt !== null,
    href: text(json["href"]) || null,
    full_url: text(json["full_url"]) || null,
    duration: wholeNumber(json["duration"]),
    resolved_at: resolvedAt,
    review: json["review"] === true,
    systems: listOfSystems(json["systems"]),
    tags: texts(json["tags"]),
    updates: objects(json["updates"]).map(readUpdate),
  };
}

/** Where a maintenance may say when it ends; no name is documented. */
const ENDS = ["resolved_at", "ends_at", "scheduled_until"];

/** `resolved: false` was seen beside `state: "resolved"` (assumed, section 5). */
function isMarkedOver({ resolved, state }: JsonObject): boolean {
  return resolved === true || ["resolved", "complete", "completed"].includes(text(state));
}

function readUpdate(json: JsonObject): IncidentUpdate {
  return {
    ...json,
    id: wholeNumber(json["id"]),
    incident_id: wholeNumber(json["incident_id"]),
    created_at: time(json["created_at"]),
    updated_at: time(json["updated_at"]),
    title: text(json["title"]),
    contents: text(json["contents"]),
    update_type: text(json["update_type"]) || null,
    systems: listOfSystems(json["systems"]),
  };
}

function listOfIncidents(value: unknown): Incident[] {
  return objects(value).map((each) => readIncident(each)!);
}

function listOfSystems(value: unknown): AffectedSystem[] {
  return objects(value).map((each) => ({
    ...each,
    name: text(each["name"]),
    status: text(each["status"]),
    services: texts(each["services"]),
  }));
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function wholeNumber(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}

function time(value: unknown): string | null {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}
