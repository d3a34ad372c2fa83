/** The sandbox's own time: real time plus what `POST /sandbox/clock` has added. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  advance(seconds: number): void;
  offsetMs(): number;
  set(offsetMs: number): void;
}

export function createClock(): Clock {
  let offset = 0;
  return {
    now: () => Date.now() + offset,
    advance: (seconds) => void (offset += seconds * 1000),
    offsetMs: () => offset,
    set: (offsetMs) => void (offset = offsetMs),
  };
}

/** ISO 8601 in UTC without fractions, as all timestamps of the API (assumed, section 4). */
export function isoTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The grant's own shape: a numeric offset without a colon ("OAuth grant" in the platform document). */
export function offsetTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+0000`;
}
