import { checkMembers, flag, isoTimestamp, listOf, oneOf, text, word } from "../control/members.ts";
import { invalid } from "../refusal.ts";
import type { AffectedSystem, IncidentRecord } from "../world/records.ts";

export interface IncidentUpdateWish {
  contents?: string;
  /** Of the update: `investigating`, `identified`, `resolved`, `retroactive`, … any word. */
  update_type?: string;
  /** Of the incident from now on; any word. `resolved` ends it. */
  state?: string;
  /** The same as `state: "resolved"`. */
  resolved?: boolean;
  /** Names, or objects; a status or services left out follow from the kind and the name. */
  systems?: (string | (Partial<AffectedSystem> & { name: string }))[];
  tags?: string[];
  review?: boolean;
  title?: string;
}

export interface IncidentWish extends IncidentUpdateWish {
  kind?: IncidentRecord["kind"];
  /** ISO 8601; in the future for a planned maintenance, in the past for what is told of afterwards. */
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

/** Checks what is to be opened; only a title is needed. */
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

/** Checks what is to be said of an incident; at least one thing. */
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
