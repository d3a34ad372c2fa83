/** How long a grant is tried after its arrival: the five minutes that it lives, and 5 s for clocks that differ. */
export const GRANT_SECONDS = 305;

/**
 * Parses a timestamp whose offset is `+hhmm` (as the platform writes a grant's), `+hh:mm` or `Z`. Null: it cannot be
 * parsed, or its year is before 2000 or after 9999.
 */
export function readTime(value: unknown): Date | null {
  if (typeof value !== "string") return null;
  const time = new Date(/[+-]\d{4}$/.test(value) ? `${value.slice(0, -2)}:${value.slice(-2)}` : value);
  const year = time.getUTCFullYear();
  return year >= 2000 && year < 10_000 ? time : null;
}
