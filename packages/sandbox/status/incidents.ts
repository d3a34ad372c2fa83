import { conflict, notFound } from "../refusal.ts";
import type { AffectedSystem, IncidentRecord, IncidentUpdateRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import type { IncidentUpdateWish, IncidentWish } from "./incident-wish.ts";

const FIRST_ID = 1001;

/** Opens an incident or a maintenance; one of type `retroactive` or `resolved` is already over. */
export function addIncident(world: World, wish: IncidentWish & { title: string }): IncidentRecord {
  const now = world.clock.now();
  const kind = wish.kind ?? "incident";
  const { title: _title, ...update } = wish;
  const incident: IncidentRecord = {
    id: (world.incidents.all().at(-1)?.id ?? FIRST_ID - 1) + 1,
    kind,
    title: wish.title,
    tags: wish.tags ?? [],
    review: wish.review ?? false,
    startsAt: wish.starts_at === undefined ? now : Date.parse(wish.starts_at),
    createdAt: now,
    updates: [],
  };
  const isOver = wish.update_type === "retroactive" || wish.update_type === "resolved";
  post(world, incident, {
    systems: ["Apps"],
    state: isOver ? "resolved" : kind === "maintenance" ? "upcoming" : "investigating",
    ...update,
  });
  return world.incidents.add(incident);
}

/** Posts an update to an incident, which may resolve it. */
export function updateIncident(world: World, incident: IncidentRecord, wish: IncidentUpdateWish): void {
  const isResolved = incident.updates.at(-1)!.state === "resolved";
  if (isResolved && (wish.resolved === true || wish.state === "resolved" || wish.update_type === "resolved"))
    throw conflict(`The incident ${incident.id} is resolved already.`);
  if (wish.tags) incident.tags = wish.tags;
  if (wish.review !== undefined) incident.review = wish.review;
  post(world, incident, wish);
}

export function findIncident(world: World, id: string): IncidentRecord {
  const incident = world.incidents.get(id);
  if (!incident) throw notFound(`There is no incident ${id}.`);
  return incident;
}

function post(world: World, incident: IncidentRecord, wish: IncidentUpdateWish): void {
  const state = stateAfter(incident, wish);
  const type = wish.update_type ?? typeOf(state, incident.updates.at(-1)?.state);
  const earlier = world.incidents.all().reduce((sum, { updates }) => sum + updates.length, 0);
  const update: IncidentUpdateRecord = {
    id: earlier + 1,
    type,
    title: wish.title ?? titleOf(type),
    contents: wish.contents ?? `${titleOf(type)}.`,
    state,
    systems: (wish.systems ?? []).map((system) => completeSystem(incident, system)),
    // The first update has the time of the incident itself.
    createdAt: incident.updates.length === 0 ? incident.createdAt : world.clock.now(),
  };
  incident.updates.push(update);
}

function typeOf(state: string, before: string | undefined): string {
  if (state === before) return "update";
  return state === "upcoming" ? "scheduled" : state;
}

function stateAfter(
  { updates }: IncidentRecord,
  { state, resolved, update_type }: IncidentUpdateWish,
): string {
  const before = updates.at(-1)?.state;
  if (resolved || update_type === "resolved") return "resolved";
  // An explicit `resolved: false` reopens the incident.
  if (resolved === false && before === "resolved") return state ?? "investigating";
  return state ?? before!;
}

function completeSystem(
  { kind }: IncidentRecord,
  system: string | (Partial<AffectedSystem> & { name: string }),
): AffectedSystem {
  const given = typeof system === "string" ? { name: system } : system;
  const status = kind === "maintenance" ? "blue" : "yellow";
  return { status, services: [given.name], ...given };
}

/** `in_progress` as a person reads it: "In progress". */
function titleOf(type: string): string {
  const words = type.replace(/[_-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
