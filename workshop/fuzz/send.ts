import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Envelope } from "./mutate-envelope.ts";

/** The result of one request. */
export interface Sent {
  /** Null if the client did not wait for the answer. */
  status: number | null;
  text: string;
  /** The processor time of this process, which includes the service, and the elapsed time. */
  cpuMs: number;
  ms: number;
}

const LONGEST_MS = 30_000;

/** Sends provision requests, one after the other, to a service in this process. */
export function createSender(serviceUrl: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  const url = `${serviceUrl}/resources`;

  /** Rejects if an expected answer does not come. */
  async function send(envelope: Envelope): Promise<Sent> {
    const cpu = process.cpuUsage();
    const from = performance.now();
    const { status, text } = await (envelope.manner === "cut" || envelope.manner === "gone"
      ? leave(envelope, { url })
      : ask(envelope, { url, agent }));
    const { user, system } = process.cpuUsage(cpu);
    return { status, text, cpuMs: (user + system) / 1_000, ms: performance.now() - from };
  }

  return { send, close: () => agent.destroy() };
}

type Said = Pick<Sent, "status" | "text">;

function ask({ headers, bytes, manner }: Envelope, to: { url: string; agent: http.Agent }): Promise<Said> {
  return new Promise((resolve, reject) => {
    const length = manner === "whole" ? { "content-length": bytes.length } : { "transfer-encoding": "chunked" };
    const options = { method: "POST", agent: to.agent, headers: { ...headers, ...length }, timeout: LONGEST_MS };
    const request = http.request(to.url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString() }),
      );
    });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error(`no answer within ${LONGEST_MS} ms`)));
    for (let at = 0; at < bytes.length; at += PIECE) request.write(bytes.subarray(at, at + PIECE));
    request.end();
  });
} // prettier-ignore

const PIECE = 7_919;

/** Disconnects before the answer: in the middle of the body, or right after it. */
async function leave({ headers, bytes, manner }: Envelope, to: { url: string }): Promise<Said> {
  const unsent = manner === "cut" ? 1 + Math.floor(bytes.length / 2) : 0;
  const length = { "content-length": bytes.length + (bytes.length > 0 ? 0 : unsent) };
  const request = http.request(to.url, { method: "POST", agent: false, headers: { ...headers, ...length } });
  request.on("error", () => undefined);
  request.write(bytes.subarray(0, Math.max(bytes.length - unsent, 0)));
  // Long enough for the bytes to arrive, too short for a commit most of the time.
  await sleep(2);
  request.destroy();
  return { status: null, text: "" };
}
