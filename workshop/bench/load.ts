import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, openConnection } from "./connection.ts";

// No library is used, because the load shares its processors with PostgreSQL. Measured against a server that only
// counts, with a fresh uuid in each body and each answer read, a request costs 55 µs of processor time with autocannon,
// 45 µs with undici's Pool and 26 µs with this. At 12,000 requests a second and 22 µs each for PostgreSQL, the
// libraries themselves would be the bottleneck.

/** One kind of request, and how to check its answer. */
export interface Traffic {
  /** The bytes of a request, head included; a new one on each call. */
  next(): { bytes: Buffer; isRight(status: number, body: string): boolean };
}

export interface LoadResult {
  /** How many requests got the right answer. */
  answered: number;
  seconds: number;
  /** The latency of each answer, in ms, sorted. */
  latencies: Float64Array;
  /** The wrong answers and broken connections, in words. */
  wrong: string[];
}

export interface LoadPlan {
  connections: number;
  /** No request begins after this time; those in progress are waited for. */
  forMs: number;
  /** The maximum number of requests. */
  most?: number;
  /** Each connection begins a request at this interval, in ms. The latency counts from the scheduled start. */
  everyMs?: number;
  /** Ends the load before its time. */
  signal?: AbortSignal;
}

/** The load ends after this many wrong answers. */
const MOST_WRONG = 20;

/**
 * Keeps connections busy, each with one request at a time. Checks the status and the body of every answer, and resolves
 * when the last one has come.
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

/**
 * Waits until a request is due. Answers the time from which its latency counts: if the previous answer came late, that
 * is when it was due.
 */
async function turn(dueAt: number): Promise<number> {
  const early = dueAt - performance.now();
  if (early <= 0) return dueAt;
  await sleep(early);
  return performance.now();
}

/** The latency that `share` of all answers did not exceed. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
