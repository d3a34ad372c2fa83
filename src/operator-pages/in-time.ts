import { KitError, messageOf } from "../errors.ts";

/** A part of a page that needs the platform: what it said, or why there is nothing. */
export type Part<T> = { value: T } | { trouble: string };

/** A page is not held up by a platform in trouble for longer than this. */
const PART_TIMEOUT_MS = 2_500;

/** Never rejects. What comes too late is dropped. */
export async function inTime<T>(asked: Promise<T>, scrub: (text: string) => string): Promise<Part<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Part<T>>((resolve) => {
    const trouble = "The platform has not answered yet. Load this page again.";
    timer = setTimeout(() => resolve({ trouble }), PART_TIMEOUT_MS);
  });
  try {
    return await Promise.race([asked.then((value) => ({ value })), late]);
  } catch (error) {
    if (error instanceof KitError) return { trouble: scrub(messageOf(error)) };
    return { trouble: "It could not be read." };
  } finally {
    clearTimeout(timer);
  }
}
