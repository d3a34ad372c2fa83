import { invalid } from "../refusal.ts";

export interface IncidentQuery {
  sinceMs: number;
  perPage: number;
}

/**
 * Reads `since` (a day in UTC: incidents opened then or later) and `per_page`, both optional; other members are
 * ignored.
 */
export function readIncidentQuery(query: Record<string, unknown>): IncidentQuery {
  return { sinceMs: readSince(query["since"]), perPage: readPerPage(query["per_page"]) };
}

function readSince(value: unknown): number {
  if (value === undefined) return -Infinity;
  const day = typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(value) : NaN;
  // `Date.parse` accepts dates such as 31 April; the comparison refuses them.
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(String(value)))
    throw invalid("since must be a date of the form YYYY-MM-DD.");
  return day;
}

function readPerPage(value: unknown): number {
  if (value === undefined) return Infinity;
  if (typeof value !== "string" || !/^[1-9]\d*$/.test(value))
    throw invalid("per_page must be a whole number from 1.");
  return Number(value);
}
