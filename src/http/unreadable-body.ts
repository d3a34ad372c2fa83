import { KitError } from "../errors.ts";

/**
 * Whether the error says that a body cannot be read: one of Express's parsers threw it. Their messages quote the body,
 * so they are neither sent nor logged.
 */
export function isUnreadableBody(error: unknown): boolean {
  if (error instanceof KitError) return false;
  const { status } = error as { status?: unknown };
  return typeof status === "number" && status >= 400 && status < 500;
}
