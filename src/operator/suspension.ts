import type { Context } from "../context.ts";
import { requestResume, requestSuspension } from "../extend/suspension.ts";
import { LONGEST_REASON, readReason } from "../extend/suspension-store.ts";
import { UsedWrongly } from "./errors.ts";
import type { How } from "./report.ts";
import { forEachResource, type Report } from "./work-through.ts";

// What an operator does to suspend resources: a command, and the button of a resource's page.

export const ABOUT_SUSPENSION =
  "Your service suspends it: the customer keeps the add-on, pays for it as before, and cannot use it. The page of the customer has the reason. Plan changes and a deprovision still work.";
export const ABOUT_RESUMING = "Your service ends the suspension: the customer can use the add-on again.";

/** The reason, which the customer reads. Throws {@link UsedWrongly}. */
export function typedReason(typed: string): string {
  const reason = readReason(typed);
  if (reason !== null) return reason;
  throw new UsedWrongly(
    `The reason must be a sentence for the customer, of 1 to ${LONGEST_REASON} characters.`,
  );
}

/** Requests the suspension of each, or changes its reason. */
export const suspendResources = (
  ctx: Context,
  uuids: readonly string[],
  reason: string,
  how: How,
): Promise<Report> =>
  forEachResource(
    ctx,
    uuids,
    async ({ uuid }) => {
      const end = await requestSuspension(ctx, uuid, reason, "operator");
      return end === "unchanged" ? { skipped: "suspended for this reason already" } : null;
    },
    how,
  );

/** Requests the end of the suspension of each. */
export const resumeResources = (ctx: Context, uuids: readonly string[], how: How): Promise<Report> =>
  forEachResource(
    ctx,
    uuids,
    async ({ uuid }) => {
      const end = await requestResume(ctx, uuid, "operator");
      return end === "not_suspended" ? { skipped: "not suspended" } : null;
    },
    how,
  );
