import type { PartnerResponse } from "../partner/calls.ts";
import { invalid, Refused } from "../refusal.ts";

/** A 404 in the platform's words; tools read `resource` to learn which of two names was wrong. */
export function couldNotFind(resource: "app" | "add_on" | "add_on attachment" | "addon_service"): Refused {
  const what = { app: "app", add_on: "add-on", "add_on attachment": "add-on attachment" }[resource as string];
  return new Refused(404, "not_found", `Couldn't find that ${what ?? "add-on service"}.`, resource);
}

/** A plan that nobody sells. Tools know it by its first words, and then list the plans. */
export function noSuchPlan(wish: string): Refused {
  return invalid(`Couldn't find either the add-on service or the add-on plan of "${wish}".`);
}

/**
 * Throws if the service did not do what the customer wants. A customer reads the message of its refusal; of a service that
 * cannot be reached or fails, only that.
 */
export function refuseIfPartnerDid(
  { status, body }: PartnerResponse,
  service: string,
  success: number[],
): void {
  if (status !== null && success.includes(status)) return;
  const message = (body as { message?: unknown } | null)?.message;
  if (status !== null && status >= 400 && status < 500)
    throw invalid(typeof message === "string" ? message : `${service} has refused this, without a reason.`);
  const answered = status !== null && status < 400 ? `${status}, which is no success here` : status;
  const what = status === null ? "did not answer" : `answered ${answered}`;
  throw new Refused(503, "service_unavailable", `The service of ${service} ${what}. Try again later.`);
}
