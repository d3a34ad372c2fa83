import type { Readiness } from "../app.ts";
import type { Services } from "../services.ts";
import { within } from "../within.ts";
import type { RightsWatch } from "./rights-watch.ts";
import { NotReady } from "./start-up.ts";

/** How long each check waits: another session may have locked the table of the client secrets. */
const CHECK_PATIENCE_MS = 1_000;

export const notReady = (): Error => new NotReady();

/**
 * `unavailable` only if the service has not started, or the database is away; operators see elsewhere what else is
 * wrong.
 */
export async function readiness(
  { db, credentials }: Services,
  rights: RightsWatch,
  ready: Promise<void>,
): Promise<Readiness> {
  try {
    await within(0, ready, notReady);
    await db.ping();
  } catch {
    return "unavailable";
  }
  // No provision waits for the client secret, and a role that lacks a right may still have those that a provision needs.
  // If the secret cannot be read or is rejected, or a right is missing, an operator should look: `degraded`.
  const checks = [
    async () => !(await credentials.secrets.current()).isRejected,
    async () => !(await rights.areLacking()),
  ];
  const isFine = await Promise.all(
    checks.map((check) => within(CHECK_PATIENCE_MS, check(), notReady).catch(() => false)),
  );
  return isFine.every(Boolean) ? "ready" : "degraded";
}
