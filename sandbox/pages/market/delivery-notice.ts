import { setTimeout as sleep } from "node:timers/promises";
import type { Delivery } from "../../control/deliveries.ts";
import type { Notice } from "./page.ts";

/** So long a person's browser waits for the service; whatever takes longer is watched on the page. */
const PATIENCE_MS = 3000;

/** What a call to the service came to; null when it is still under way. It goes on in any case. */
export async function patiently(delivery: Promise<Delivery>): Promise<Delivery | null> {
  const waiting = new AbortController();
  // Whoever has gone on is told by the ledger.
  delivery.catch(() => undefined);
  const tooLong = sleep(PATIENCE_MS, null, { signal: waiting.signal }).catch(() => null);
  return Promise.race([delivery, tooLong]).finally(() => waiting.abort());
}

/** The same as a sentence, with what is wrong with the answer. */
export function deliveryNotice(what: string, delivery: Delivery | null): Notice {
  if (delivery === null)
    return { text: `${what}: your service has not answered yet. Its answer appears here.` };
  const { status, ms, error, complaints = [], body } = delivery.response;
  if (status === null)
    return { text: `${what}: there was no answer.`, complaints: [error ?? "It is not known why."] };
  const message = (body as { message?: unknown } | null)?.message;
  // What comes with a yes stands on the page anyway.
  const said = typeof message === "string" && status >= 300 ? ` “${message}”` : "";
  return { text: `${what}: your service answered ${status} after ${Math.round(ms)} ms.${said}`, complaints };
}
