import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { KitError, Misconfigured } from "../errors.ts";
import type { Rotation } from "../extend/contract.ts";
import { lockedResource } from "../resources/store.ts";
import { findOldCredentials, writeRotation, type Asked, type NewRotation } from "./rotation-store.ts";

// Rotation of customers' credentials: who may ask for it. A `rotate` step makes new ones, then sets them as config vars,
// and turns into `retire`, which is due when the overlap is over.

export const NO_ROTATION =
  "This service cannot rotate credentials: its createYourService() returns no rotation (docs/extend-it.md).";

/** How your service rotates. Throws if it cannot. */
export function rotationOf({ vendor }: Pick<Context, "vendor">): Rotation {
  if (!vendor.rotation) throw new KitError("no_rotation", NO_ROTATION);
  return vendor.rotation;
}

/** Throws `Misconfigured` for times that are none. */
export function checkRotation({ overlapMinutes = 0, everyDays = 1 }: Partial<Rotation> = {}): void {
  if (!(overlapMinutes >= 0 && everyDays >= 1))
    throw new Misconfigured(
      "src/your-service: of rotation, overlapMinutes is at least 0 and everyDays at least 1.",
    );
}

/** Asks for new credentials of one resource, which are made soon; unless it is "asked", nothing is. */
export async function askRotation(
  ctx: Context,
  uuid: string,
  how: Pick<NewRotation, "by" | "endsOverlap" | "goesFirst">,
): Promise<Asked | "not_provisioned"> {
  rotationOf(ctx);
  const asked = { ...how, uuid, key: randomUUID(), traceparent: ctx.trace.current() };
  const result = await retryWhileDatabaseAway(() =>
    ctx.db.transaction(async (tx) => {
      const resource = await lockedResource(tx, uuid);
      if (resource?.state !== "provisioned") return "not_provisioned";
      return writeRotation(tx, asked);
    }),
  );
  if (result === "asked") ctx.nudge("run-rotations");
  return result;
}

/** Asks for the rotation of some resources whose credentials are older than your service allows. */
export async function planRotations(ctx: Context): Promise<void> {
  const { everyDays } = ctx.vendor.rotation ?? {};
  if (everyDays === undefined) return;
  for (const uuid of await findOldCredentials(ctx.db, everyDays))
    await askRotation(ctx, uuid, { by: "timetable", endsOverlap: false, goesFirst: false });
}
