/** From its arrival on a grant is tried for so long: the five minutes that it lives, and some for clocks that differ. */
export const GRANT_SECONDS = 305;

/** A timestamp whose offset is `+hhmm` (as the platform writes a grant's), `+hh:mm` or `Z`; null if it cannot be read. */
export function readTime(value: unknown): Date | null {
  if (typeof value !== "string") return null;
  const time = new Date(/[+-]\d{4}$/.test(value) ? `${value.slice(0, -2)}:${value.slice(-2)}` : value);
  const year = time.getUTCFullYear();
  return year >= 2000 && year < 10_000 ? time : null;
}
