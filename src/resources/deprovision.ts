import type { Context } from "../context.ts";
import { requestDeadline } from "../database/retry.ts";
import { deprovisioned, notFound } from "./answers.ts";
import { endResource } from "./end-store.ts";
import { wasNeverProvisioned } from "./rows.ts";
import { findResource } from "./store.ts";

/**
 * Answers a deprovision (assumed, section 1). Throws a `Refusal` for a uuid that was never provisioned (404) or is
 * deprovisioned already (410). A uuid that is not stored gets a tombstone: if this request overtook its provision, the
 * tombstone makes the service refuse that provision.
 */
export async function deprovision(
  ctx: Pick<Context, "db" | "log" | "pace" | "trace" | "wake">,
  uuid: string,
  requestId: string | null = null,
  receivedAtMs = performance.now(),
): Promise<void> {
  const persist = requestDeadline(receivedAtMs, ctx.pace);
  // Kept across retries: an earlier attempt of this request may have been committed without an acknowledgement.
  let isFirst = false;
  await persist(() =>
    ctx.db.transaction(async (tx) => {
      isFirst = (await endResource(tx, uuid, requestId, ctx.trace.current())) || isFirst;
    }),
  );
  if (!isFirst) {
    const resource = await persist(() => findResource(ctx.db, uuid));
    throw !resource || wasNeverProvisioned(resource) ? notFound() : deprovisioned();
  }
  ctx.log.info({ uuid, requestId }, "Resource deprovisioned; all its secrets are erased");
  ctx.wake.runVendorSteps();
}
