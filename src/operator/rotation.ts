import type { Context } from "../context.ts";
import { askRotation, rotationOf } from "../work/rotation.ts";
import { forEachResource, type How, type Report, type Which } from "./work-through.ts";

/**
 * Asks for new credentials of resources; the service makes them, as many at once as it does without this. Throws if your
 * service cannot rotate.
 */
export async function rotateCredentials(ctx: Context, which: Which, how: How): Promise<Report> {
  rotationOf(ctx);
  return forEachResource(
    ctx,
    which,
    async ({ uuid, state }) => {
      if (state !== "provisioned") return { skipped: state };
      const end = await askRotation(ctx, uuid, "operator");
      return end === "asked" ? null : { skipped: end };
    },
    { ...how, isWanted: ({ state }) => state === "provisioned" },
  );
}
