import { checkMembers, flag, isoTimestamp, listOf, oneOf, text, word } from "../control/members.ts";
import { invalid } from "../refusal.ts";
import type { AffectedSystem, IncidentRecord } from "../world/records.ts";

export interface IncidentUpdateWish {
  contents?: string;
  /** The type of the update: `investigating`, `identified`, `resolved`, `retroactive`, or any other word. */
  update_type?: string;
  /** The state of the incident from now on; any word. `resolved` ends it. */
  state?: string;
  /** The same as `state: "resolved"`. */
  resolved?: boolean;
  /** Names, or objects; a missing status follows from the kind, missing services from the name. */
  systems?: (string | (Partial<AffectedSystem> & { name: string }))[];
  tags?: string[];
  review?: boolean;
  title?: string;
}

export interface IncidentWish extends IncidentUpdateWish {
  kind?: IncidentRecord["kind"];
  /** ISO 8601; in the future for a planned maintenance, in the past for an incident that is reported later. */
  starts_at?: string;
}

const updateMembers = {
  title: text,
  contents: text,
  update_type: word,
  state: word,
  resolved: flag,
  systems: listOf(system),
  tags: listOf(text),
  review: flag,
};

/** Checks the request to open an incident; only a title is required. */
export function checkIncident(wish: unknown): IncidentWish & { title: string } {
  const checked = checkMembers(wish, {
    ...updateMembers,
    kind: oneOf("incident", "maintenance"),
    starts_at: isoTimestamp,
  }) as IncidentWish;
  const { title } = checked;
  if (title === undefined) throw invalid("title is missing.");
  return { ...checked, title };
}

/** Checks the request to update an incident; at least one member is required. */
export function checkIncidentUpdate(wish: unknown): IncidentUpdateWish {
  const checked = checkMembers(wish, updateMembers) as IncidentUpdateWish;
  if (Object.keys(checked).length === 0)
    throw invalid(`Nothing to update: give at least one of ${Object.keys(updateMembers).join(", ")}.`);
  return checked;
}

function system(value: unknown): unknown {
  if (typeof value === "string") return text(value);
  return checkMembers(value, { name: text, status: word, services: listOf(text) }, ["name"]);
}
