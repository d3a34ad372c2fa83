import type { Context } from "../context.ts";
import { deprovisioned, notFound, requestDeadline } from "./answers.ts";
import { endResource } from "./end-store.ts";
import { wasNeverProvisioned } from "./rows.ts";
import { findResource } from "./store.ts";

/**
 * Answers a deprovision (assumed, section 1). Throws a `Refusal` for a uuid never provisioned (404) or already
 * deprovisioned (410). A uuid never seen leaves a tombstone: a provision that this request overtook on its way then finds
 * it, and makes nothing that would never be taken down.
 */
export async function deprovision(
  ctx: Pick<Context, "db" | "log" | "pace" | "trace" | "wake">,
  uuid: string,
  requestId: string | null = null,
  receivedAtMs = performance.now(),
): Promise<void> {
  const persist = requestDeadline(receivedAtMs, ctx.pace);
  // Also if an earlier try was committed and its acknowledgement was lost: then this request was the first, and succeeds.
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
  ctx.log.info({ uuid, requestId }, "Deprovisioned: a tombstone stays, every secret is erased");
  ctx.wake.runVendorSteps();
}
