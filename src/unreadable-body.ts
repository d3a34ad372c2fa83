import { KitError } from "./errors.ts";

/**
 * Whether it was thrown over a body that cannot be read: by a parser of Express, or by what unpacks a body for it, whose
 * errors have nothing but a status. What they say quotes the body, so it goes nowhere.
 */
export function isUnreadableBody(error: unknown): boolean {
  if (error instanceof KitError) return false;
  const { status } = error as { status?: unknown };
  return typeof status === "number" && status >= 400 && status < 500;
}
