import { setTimeout as wait } from "node:timers/promises";
import { openConnection, type Connection } from "./connection.ts";

// Why no library: the load shares its processor with PostgreSQL. Measured against one server that only counts, with a
// fresh uuid in each body and each answer read, a request costs autocannon 55 µs of that processor, undici's Pool 45 and
// this 26. At 12,000 requests a second and 22 µs each for PostgreSQL, the first two would be what is measured.

/** One kind of request, and which answer is right. */
export interface Traffic {
  /** A request's bytes, complete with its head; made anew for each one. */
  next(): { bytes: Buffer; isRight(status: number, body: string): boolean };
}

export interface LoadResult {
  /** How many requests got the right answer. */
  answered: number;
  seconds: number;
  /** How long each answer took, in ms, sorted. */
  latencies: Float64Array;
  /** What was wrong: answers that were not right, connections that broke. */
  wrong: string[];
}

export interface LoadPlan {
  connections: number;
  /** No request begins after this; those that have begun are waited for. */
  forMs: number;
  /** Nor after so many. */
  most?: number;
  /** Each connection begins a request only so often, and what waits for its turn counts as waiting. */
  everyMs?: number;
  /** Ends the load before its time. */
  signal?: AbortSignal;
}

/** So many wrong answers are enough to know. */
const MOST_WRONG = 20;

/**
 * Keeps connections busy, each with one request at a time. Counts every answer and looks at its status and its body;
 * resolves when the last one that was asked for has come.
 */
export async function load(url: URL, traffic: Traffic, plan: LoadPlan): Promise<LoadResult> {
  const { forMs, most = Infinity, everyMs = 0, signal } = plan;
  const latencies: number[] = [];
  const wrong: string[] = [];
  const connections = await Promise.all(Array.from({ length: plan.connections }, () => openConnection(url)));
  let begun = 0;
  const startedAt = performance.now();
  const mayBegin = () =>
    begun < most && wrong.length < MOST_WRONG && performance.now() - startedAt < forMs && !signal?.aborted;

  async function keepBusy({ exchange }: Connection, dueAt: number): Promise<void> {
    for (; mayBegin(); dueAt += everyMs) {
      const from = everyMs > 0 ? await turn(dueAt) : performance.now();
      begun += 1;
      const { bytes, isRight } = traffic.next();
      const { status, body } = await exchange(bytes);
      if (isRight(status, body)) latencies.push(performance.now() - from);
      else wrong.push(`answered ${status} ${body.slice(0, 200)}`);
    }
  }

  await Promise.all(
    connections.map((connection, index) =>
      keepBusy(connection, startedAt + (index * everyMs) / connections.length)
        .catch((error: Error) => wrong.push(error.message))
        .finally(connection.close),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  return { answered: latencies.length, seconds, latencies: Float64Array.from(latencies).sort(), wrong };
}

/** Waits for a request's turn. Answers from when on it waits: who is late because the last answer was, was due before. */
async function turn(dueAt: number): Promise<number> {
  const early = dueAt - performance.now();
  if (early <= 0) return dueAt;
  await wait(early);
  return performance.now();
}

/** The latency below which `share` of all answers came. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
