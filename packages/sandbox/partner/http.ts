import http, { type IncomingHttpHeaders } from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { readBody } from "../wire/body.ts";

export interface Outgoing {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | undefined;
  /** Sends the body byte by byte, waiting this long after each. */
  msPerByte?: number | undefined;
}

export interface Incoming {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface HttpNeeds {
  agents: { http: http.Agent; https: https.Agent };
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Connections are reused within a burst, and closed when idle for 2 s, before the service's own keep-alive timeout can
 * race with a call.
 */
export function createAgents(): HttpNeeds["agents"] {
  const options = { keepAlive: true, timeout: 2000 };
  return { http: new http.Agent(options), https: new https.Agent(options) };
}

/** Sends one request and reads its whole answer; redirects are returned, not followed. */
export function sendRequest(
  { method, url, headers, body, msPerByte }: Outgoing,
  needs: HttpNeeds,
): Promise<Incoming> {
  const isSecure = url.protocol === "https:";
  const agent = isSecure ? needs.agents.https : needs.agents.http;
  const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const request = (isSecure ? https : http).request(url, {
      method,
      headers: { ...headers, ...length },
      agent,
      signal: needs.signal,
    });
    const tooLate = new Error(`The service did not answer within ${needs.timeoutMs / 1000} s.`);
    const timer = setTimeout(() => {
      request.destroy(tooLate);
      // A request that has ended without an answer, as after a 101, emits no error any more.
      reject(tooLate);
    }, needs.timeoutMs);
    request.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.on("response", (response) => {
      readBody(response)
        .then((text) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
        .catch((error: unknown) => reject(request.errored ?? error))
        .finally(() => clearTimeout(timer));
    });
    if (msPerByte === undefined) request.end(body);
    else void drip(request, body ?? "", msPerByte);
  });
}

async function drip(request: http.ClientRequest, body: string, msPerByte: number): Promise<void> {
  for (const byte of Buffer.from(body)) {
    if (request.destroyed) return;
    request.write(Buffer.of(byte));
    // The connection keeps the process alive, not this pause.
    await sleep(msPerByte, undefined, { ref: false });
  }
  request.end();
}
