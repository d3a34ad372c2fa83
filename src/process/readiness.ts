import type { Readiness } from "../app.ts";
import type { OpenContext } from "../open-context.ts";
import { within } from "../within.ts";
import { notReady } from "./start-up.ts";

/** How long the check waits for the client secret, whose table another session may have locked. */
const SECRET_PATIENCE_MS = 1_000;

/**
 * `unavailable` if provisions cannot be answered: the service has not started, or the database is unreachable or takes
 * no writes. `degraded` if an operator should look: the client secret cannot be read or is rejected, for which no
 * provision waits, or clocks are more than a minute apart.
 */
export async function readiness(
  { db, credentials, clocks }: OpenContext,
  ready: Promise<void>,
): Promise<Readiness> {
  try {
    await within(0, ready, notReady);
    await db.ping();
  } catch {
    return "unavailable";
  }
  const isAccepted = within(SECRET_PATIENCE_MS, credentials.secrets.current(), notReady).then(
    ({ isRejected }) => !isRejected,
    () => false,
  );
  return (await isAccepted) && clocks.trouble() === null ? "ready" : "degraded";
}
