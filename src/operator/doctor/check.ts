import { counted } from "../wording.ts";

export { counted };

/** What one check found. A finding that is `ok` and has a `fix` is a warning. */
export interface Finding {
  ok: boolean;
  message: string;
  /** What to do, as a sentence; null: nothing. */
  fix: string | null;
}

export interface Check extends Finding {
  id: string;
  /** False where it waits for a check that failed. */
  isLookedAt?: boolean;
}

export function fine(message: string): Finding {
  return { ok: true, message, fix: null };
}

export function warning(message: string, fix: string): Finding {
  return { ok: true, message, fix };
}

export function fault(message: string, fix: string | null): Finding {
  return { ok: false, message, fix };
}

/** So many rows of a kind are looked at; who has more needs no number. */
export const MOST_COUNTED = 10_000;

/** "1 row", "2 rows", "10000 rows or more". */
export function countedToMost(count: number, thing: string): string {
  return count < MOST_COUNTED ? counted(count, thing) : `${counted(MOST_COUNTED, thing)} or more`;
}
