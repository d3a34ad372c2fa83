import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery } from "../../control/deliveries.ts";
import type { Notice } from "./page.ts";

/** How long a person's browser waits for the service; the outcome of a slower call appears on the page later. */
const PATIENCE_MS = 3000;

/** The outcome of a call to the service; null when it is still under way. The call continues in any case. */
export async function patiently(delivery: Promise<Delivery>): Promise<Delivery | null> {
  const waiting = new AbortController();
  // When nobody waits any more, a failure is still recorded in the ledger.
  delivery.catch(() => undefined);
  const tooLong = sleep(PATIENCE_MS, null, { signal: waiting.signal }).catch(() => null);
  return Promise.race([delivery, tooLong]).finally(() => waiting.abort());
}

/** The outcome as a sentence, with the complaints about the answer. */
export function deliveryNotice(what: string, delivery: Delivery | null): Notice {
  if (delivery === null)
    return { text: `${what}: your service has not answered yet. Its answer will appear on this page.` };
  const { status, ms, error, complaints = [], body } = delivery.response;
  if (status === null)
    return { text: `${what}: there was no answer.`, complaints: [error ?? "The reason is unknown."] };
  const message = (body as { message?: unknown } | null)?.message;
  // The message of a success is already on the page.
  const said = typeof message === "string" && status >= 300 ? ` “${message}”` : "";
  return { text: `${what}: your service answered ${status} after ${Math.round(ms)} ms.${said}`, complaints };
}
