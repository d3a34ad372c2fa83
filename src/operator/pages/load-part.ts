import { KitError, messageOf } from "../../errors.ts";
import { within } from "../../within.ts";

/** A part of a page that needs the platform: its answer, or why there is none. */
export type Part<T> = { value: T } | { trouble: string };

/** A page waits for the platform no longer than this. */
const PART_TIMEOUT_MS = 2_500;

/** Never rejects. An answer that comes too late is dropped. */
export async function loadPart<T>(asked: Promise<T>, scrub: (text: string) => string): Promise<Part<T>> {
  try {
    return { value: await within(PART_TIMEOUT_MS, asked, late) };
  } catch (error) {
    if (error instanceof KitError) return { trouble: scrub(messageOf(error)) };
    return { trouble: "It could not be read." };
  }
}

function late(): KitError {
  return new KitError("late", "The platform has not answered yet. Load this page again.");
}
