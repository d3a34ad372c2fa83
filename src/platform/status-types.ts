import type { Open } from "./types.ts";

/**
 * What the status feed tells (platform document, "Status feed objects"), as far as it could be read: a list that is
 * missing is empty, anything else that is missing is null, times are ISO 8601 in UTC, and unknown members are kept.
 */
export interface CurrentStatus {
  status: { system: string; status: SystemStatus }[];
  /** Null: the answer has no such list; incidents may be open all the same. */
  incidents: Incident[] | null;
  /** Maintenance that is planned, or going on. */
  scheduled: Incident[];
}

/** Only `green` is documented; the others are what such feeds use for the icons of the status site. */
export type SystemStatus = Open<"green" | "yellow" | "red" | "blue">;

export interface Incident {
  id: number | string | null;
  title: string;
  state: Open<"resolved"> | null;
  created_at: string | null;
  updated_at: string | null;
  /** Whether it is over, as any of its members says. */
  resolved: boolean;
  /** This incident in the feed. */
  href: string | null;
  /** The page for people. */
  full_url: string | null;
  /** Its unit is not documented. */
  duration: number | null;
  resolved_at: string | null;
  review: boolean;
  systems: AffectedSystem[];
  tags: string[];
  updates: IncidentUpdate[];
}

export interface AffectedSystem {
  name: string;
  status: SystemStatus;
  services: string[];
}

export interface IncidentUpdate {
  id: number | null;
  incident_id: number | null;
  created_at: string | null;
  updated_at: string | null;
  title: string;
  contents: string;
  update_type: Open<"resolved" | "retroactive"> | null;
  systems: AffectedSystem[];
}
