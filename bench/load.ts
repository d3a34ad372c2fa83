import { once } from "node:events";
import { connect, type Socket } from "node:net";

// Why not a library: see the head of docs/performance.md's section "The load".

/** One kind of request, and which answer is right. */
export interface Traffic {
  /** A request's bytes, complete with its head; made anew for each one. */
  next(): { bytes: Buffer; isRight(status: number, body: string): boolean };
}

export interface LoadResult {
  /** How many requests were answered, each with the right answer. */
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
}

/** An answer may take this long; then the connection counts as broken. */
const LONGEST_ANSWER_MS = 20_000;

/**
 * Keeps `connections` connections busy, each with one request at a time. Counts every answer and looks at its status
 * and its body; resolves when the last one that was asked for has come.
 */
export async function load(
  url: URL,
  traffic: Traffic,
  { connections, forMs, most = Infinity }: LoadPlan,
): Promise<LoadResult> {
  const latencies: number[] = [];
  const wrong: string[] = [];
  let begun = 0;
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(url)));
  const startedAt = performance.now();
  const mayBegin = () => begun < most && wrong.length < MOST_WRONG && performance.now() - startedAt < forMs;

  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          let current = traffic.next();
          let sentAt = 0;
          let received = "";
          const send = () => {
            begun += 1;
            sentAt = performance.now();
            socket.write(current.bytes);
          };
          const end = (fault?: string) => {
            if (fault) wrong.push(fault);
            socket
              .removeAllListeners()
              .on("error", () => undefined)
              .destroy();
            resolve();
          };
          socket.on("data", (chunk: string) => {
            received += chunk;
            const answer = readAnswer(received);
            if (!answer) return;
            received = "";
            if (current.isRight(answer.status, answer.body)) latencies.push(performance.now() - sentAt);
            else wrong.push(`answered ${answer.status} ${answer.body.slice(0, 200)}`);
            if (!mayBegin()) return end();
            current = traffic.next();
            send();
          });
          socket.setTimeout(LONGEST_ANSWER_MS, () => end("no answer"));
          socket.on("close", () => end("the connection was closed before the answer"));
          socket.on("error", (error) => end(`the connection broke: ${error.message}`));
          if (mayBegin()) send();
          else end();
        }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  return { answered: latencies.length, seconds, latencies: Float64Array.from(latencies).sort(), wrong };
}

/** So many wrong answers are enough to know. */
const MOST_WRONG = 20;

async function open({ hostname, port }: URL): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true).setEncoding("latin1");
  await once(socket, "connect");
  return socket;
}

/** A whole answer, or null while more of it is to come. All that is measured here sends a Content-Length. */
function readAnswer(received: string): { status: number; body: string } | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd)) ?? [];
  const bodyEnd = headEnd + 4 + Number(length);
  if (received.length < bodyEnd) return null;
  return { status: Number(received.slice(9, 12)), body: received.slice(headEnd + 4, bodyEnd) };
}

/** The latency below which `share` of all answers came. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
