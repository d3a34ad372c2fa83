import { Refusal } from "../errors.ts";
import type { LimitsOf, OptionsOf, PlanOf } from "../resources/contract.ts";
import { within } from "../signal.ts";
import type { OurKit } from "./metrics.ts";
import type { offer } from "./plans.ts";
import type { YourSettings } from "./settings.ts";

/** A queue as the broker's API describes it. `url` and `key` are there once it is ready. */
export interface Queue {
  isReady: boolean;
  url: string;
  key: string;
}

/** What the customer bought. */
type Wish = { plan: PlanOf<typeof offer>; replay: boolean } & LimitsOf<typeof offer> &
  OptionsOf<typeof offer>;

interface ListedQueue {
  id: string;
  host: string;
}

/** The broker's API is slow at times, and at times it is down. Then a call throws, and the kit calls again. */
const LONGEST_CALL_SECONDS = 30;

interface Address extends Pick<YourSettings, "queueApiToken"> {
  queueApiUrl: string;
}

export type Broker = ReturnType<typeof createBroker>;

export function createBroker({ queueApiUrl, queueApiToken }: Address, kit: OurKit) {
  async function answerTo(
    method: string,
    path: string,
    signal?: AbortSignal,
    body?: object,
  ): Promise<unknown> {
    const answer = await fetch(`${queueApiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${queueApiToken.reveal()}`, "content-type": "application/json" },
      signal: within(signal, LONGEST_CALL_SECONDS),
      ...(body && { body: JSON.stringify(body) }),
    });
    // What the broker refuses for good, the customer should read; a queue that is gone is what a removal wants.
    if (answer.status === 422) throw new Refusal(((await answer.json()) as { reason: string }).reason);
    if (answer.status === 404 && (method === "DELETE" || path.includes("/usage?"))) return null;
    if (!answer.ok) throw new Error(`The broker answers ${answer.status} to ${method} ${path}`);
    return answer.status === 204 ? null : answer.json();
  }
  async function call(method: string, path: string, signal?: AbortSignal, body?: object): Promise<unknown> {
    const begunMs = performance.now();
    try {
      return await answerTo(method, path, signal, body);
    } finally {
      kit.observe("pigeon_broker_seconds", (performance.now() - begunMs) / 1_000, { method });
    }
  }

  return {
    /** Makes a queue, or adapts it to its plan. The same uuid gets the same queue. */
    put: (uuid: string, wish: Wish, signal: AbortSignal) =>
      call("PUT", `/queues/${uuid}`, signal, wish) as Promise<Queue>,
    find: (uuid: string, signal: AbortSignal) => call("GET", `/queues/${uuid}`, signal) as Promise<Queue>,
    remove: (uuid: string, signal: AbortSignal) => call("DELETE", `/queues/${uuid}`, signal),
    /** All queues, read page by page. */
    async *list(signal: AbortSignal) {
      for (let after: string | null = ""; after !== null;) {
        const path: string = `/queues?after=${after}`;
        const page = (await call("GET", path, signal)) as { queues: ListedQueue[]; next: string | null };
        for (const { id, host } of page.queues) yield { uuid: id, host };
        after = page.next;
      }
    },
    /** Adds a key to a queue, the newest from now on; with the same id it is the same. `replaces`: the id of the one before. */
    addKey: (uuid: string, id: string, signal: AbortSignal) =>
      call("PUT", `/queues/${uuid}/keys/${id}`, signal) as Promise<{ key: string; replaces: string }>,
    removeKey: (uuid: string, id: string, signal: AbortSignal) =>
      call("DELETE", `/queues/${uuid}/keys/${id}`, signal),
    /** Begins to move a queue to another host; the broker calls back when it is there. */
    move: (uuid: string, signal: AbortSignal) => call("POST", `/queues/${uuid}/moves`, signal),
    purge: (uuid: string, signal: AbortSignal) =>
      call("DELETE", `/queues/${uuid}/messages`, signal) as Promise<{ messages: number } | null>,
    /** For `kit doctor`: null if the broker answers. */
    async check(): Promise<string | null> {
      try {
        await call("GET", "/health", within(undefined, 5));
        return null;
      } catch (error) {
        return `The broker at ${queueApiUrl} does not answer (${String(error)}): its own team is on call for it.`;
      }
    },
    /** How many messages went through a queue on a day (YYYY-MM-DD, UTC); null: the queue is gone. */
    usage: (uuid: string, day: string, signal: AbortSignal) =>
      call("GET", `/queues/${uuid}/usage?day=${day}`, signal) as Promise<{ messages: number } | null>,
    /** A queue that is paused keeps its messages, and takes and gives none. */
    pause: (uuid: string, signal: AbortSignal) => call("PUT", `/queues/${uuid}/pause`, signal),
    unpause: (uuid: string, signal: AbortSignal) => call("DELETE", `/queues/${uuid}/pause`, signal),
  };
}
