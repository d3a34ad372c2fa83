import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { isConflict, isDatabaseUnreachable, retryWhileUnreachable } from "../database/retry.ts";
import { KitError } from "../errors.ts";
import { announce } from "../resources/announce.ts";
import type { Answer } from "../resources/answers.ts";
import { isAnnouncing, type Step } from "../resources/step-kinds.ts";
import { settleRetired } from "../resources/step-store.ts";
import type { RotationKind } from "../resources/steps.ts";
import { lockedResource } from "../resources/store.ts";
import { callVendor, untilDone } from "../resources/vendor-steps.ts";
import type { Run } from "../work/runner.ts";
import type { Rotation } from "./contract.ts";
import { type Asked, type Asker, findOldCredentials, writeRotation } from "./store.ts";

// Rotation of customers' credentials. A `rotate` step makes new credentials and sets them as config vars. Then it becomes a
// `retire` step, which is due when the overlap is over.

export const NO_ROTATION =
  "This service cannot rotate credentials: its createYourService() returns no rotation (docs/extend-it.md).";

export function rotationOf({ vendor }: Pick<Context, "vendor">): Rotation {
  if (!vendor.rotation) throw new KitError("no_rotation", NO_ROTATION);
  return vendor.rotation;
}

/** The functions of the two kinds of steps of a rotation. */
export const ROTATION_STEPS: Readonly<Record<RotationKind, Run<Step, Answer>>> = {
  rotate: (ctx, step, signal) =>
    isAnnouncing(step)
      ? announce(ctx, step)
      : callVendor(ctx, step, signal, (resource) => rotationOf(ctx).rotate(resource)),
  async retire(ctx, step, signal) {
    const { retires = null } = step.detail;
    await untilDone(ctx, step, signal, (resource) => rotationOf(ctx).retire(resource, retires));
    await settleRetired(ctx.db, step);
  },
};

/** Requests a rotation of one resource. Only the result `asked` means that a rotation will run. */
export async function requestRotation(
  ctx: Context,
  uuid: string,
  by: Asker,
): Promise<Asked | "not_provisioned"> {
  rotationOf(ctx);
  const wish = { uuid, key: randomUUID(), by, traceparent: ctx.trace.current() };
  const result = await retryWhileUnreachable(() =>
    ctx.db.transaction(async (tx) => {
      const resource = await lockedResource(tx, uuid);
      if (resource?.state !== "provisioned") return "not_provisioned";
      return writeRotation(tx, wish);
    }),
  );
  if (result === "asked") ctx.wake.runRotations();
  return result;
}

/** Requests the scheduled rotations. An error of one resource does not stop the others; the first error is then thrown. */
export async function planRotations(ctx: Context): Promise<void> {
  const { everyDays } = ctx.vendor.rotation ?? {};
  if (everyDays === undefined) return;
  const failures: unknown[] = [];
  for (const { uuid } of await findOldCredentials(ctx.db, everyDays))
    await requestRotation(ctx, uuid, "timetable").catch((error: unknown) => {
      const isLocked = isConflict((error as Error).cause);
      if (!isLocked && isDatabaseUnreachable(error)) throw error;
      if (!isLocked) failures.push(error);
      ctx.log.warn({ uuid, error }, "The rotation of a resource could not be planned; the next tick retries");
    });
  if (failures.length > 0) throw failures[0];
}
