import type { AffectedSystem, IncidentRecord, IncidentUpdateRecord } from "../world/records.ts";

/** An incident as the feed shows it at the time `asOf`; null before it was opened ("Status feed objects"). */
export function incidentShape(incident: IncidentRecord, asOf: number, baseUrl: string) {
  const updates = incident.updates.filter(({ createdAt }) => createdAt <= asOf);
  const latest = updates.at(-1);
  if (!latest) return null;
  const resolvedAt = resolvedAtOf(updates);
  return {
    id: incident.id,
    title: incident.title,
    state: stateOf(incident, latest.state, asOf),
    created_at: timestamp(incident.createdAt),
    updated_at: timestamp(latest.createdAt),
    resolved: resolvedAt !== null,
    href: `${baseUrl}/api/v4/incidents/${incident.id}`,
    full_url: `${baseUrl}/incidents/${incident.id}`,
    /** In whole seconds, up to `asOf` or to the end; the document does not name the unit. */
    duration: Math.max(0, Math.floor(((resolvedAt ?? asOf) - incident.startsAt) / 1000)),
    resolved_at: resolvedAt === null ? null : timestamp(resolvedAt),
    review: incident.review,
    systems: systemsOf(updates, resolvedAt !== null),
    tags: incident.tags,
    updates: updates.map((update) => updateShape(incident, update)).reverse(),
  };
}

export type IncidentShape = NonNullable<ReturnType<typeof incidentShape>>;

function updateShape(incident: IncidentRecord, update: IncidentUpdateRecord) {
  return {
    id: update.id,
    created_at: timestamp(update.createdAt),
    updated_at: timestamp(update.createdAt),
    incident_id: incident.id,
    contents: update.contents,
    title: update.title,
    update_type: update.type,
    systems: update.systems,
  };
}

/**
 * When the incident ended: the first of the trailing updates that all say `resolved`; a later update does not move it.
 */
function resolvedAtOf(updates: IncidentUpdateRecord[]): number | null {
  const lastOpen = updates.findLastIndex(({ state }) => state !== "resolved");
  return updates[lastOpen + 1]?.createdAt ?? null;
}

/** A maintenance begins at its start time without an update. */
function stateOf({ startsAt }: IncidentRecord, state: string, asOf: number): string {
  return state === "upcoming" && startsAt <= asOf ? "in_progress" : state;
}

/** As in the last update that names systems; all are green once the incident is resolved. */
function systemsOf(updates: IncidentUpdateRecord[], isResolved: boolean): AffectedSystem[] {
  const systems = updates.findLast((update) => update.systems.length > 0)?.systems ?? [];
  return isResolved ? systems.map((system) => ({ ...system, status: "green" })) : systems;
}

/** ISO 8601 in UTC with milliseconds, the format of the feed. */
function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
