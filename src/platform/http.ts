import http, { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import { messageOf } from "../errors.ts";
import { mayHaveArrived } from "./arrival.ts";
import { AnswerTooLarge, type CallName, ConnectionFailed, RedirectRefused, TimedOut } from "./http-errors.ts";

export interface HttpRequest {
  method: string;
  url: URL | string;
  /** None that says where the request ends, such as Content-Length: that follows from `body`. */
  headers?: Record<string, string>;
  body?: string;
  /** Overrides the client's own limits for this call. */
  timeoutMs?: number;
  maxBytes?: number;
  /** Aborted: the call ends at once. */
  signal?: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Sends one request once. Any status but a redirect is an answer; everything else rejects with a `TransportError`. */
export interface Http {
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Refuses new calls, waits for those in flight (their own time limit bounds the wait), closes the connections. */
  close(): Promise<void>;
}

/**
 * The one way out to the platform: node's own client with connections kept alive, never a proxy, never a redirect,
 * never a second try. `timeoutMs` runs from the call to the last byte, so that an answer in drips ends too; waiting for
 * one of the `maxSockets` connections per origin counts.
 */
export function createHttp({
  timeoutMs = 15_000,
  maxBytes = 1_000_000,
  maxSockets = 128,
  // Most servers close an idle connection after 5 s or more; letting go earlier avoids writing into a closed one.
  idleSocketMs = 4_000,
} = {}): Http {
  const options = { keepAlive: true, maxSockets, timeout: idleSocketMs };
  const agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };
  const client = { timeoutMs, maxBytes, agents };
  let isClosed = false;
  // A number: to keep the promises of all calls in a set costs a tenth of a call.
  let inFlight = 0;
  const closing: (() => void)[] = [];

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    const { method, url } = request;
    const call = { method, url: typeof url === "string" ? new URL(url) : url };
    if (isClosed) throw new ConnectionFailed(call, "the client is closed", false);
    inFlight += 1;
    try {
      return await exchange(client, call, request);
    } finally {
      inFlight -= 1;
      if (inFlight === 0) for (const goOn of closing.splice(0)) goOn();
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    if (inFlight > 0) await new Promise<void>((goOn) => closing.push(goOn));
    for (const agent of Object.values(agents)) agent.destroy();
  }

  return { send, close };
}

/** A timer this late means that the whole process stood still (a frozen container, a sleeping machine). */
const OVERSLEPT_MS = 500;
const SECOND_LOOK_MS = 250;

type Agents = { "http:": http.Agent; "https:": https.Agent };

function exchange(
  client: { timeoutMs: number; maxBytes: number; agents: Agents },
  call: CallName,
  { headers, body, signal, timeoutMs = client.timeoutMs, maxBytes = client.maxBytes }: HttpRequest,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const request = open(call, { headers: framed(call, headers, body), signal }, client.agents);
    const settle = (end: () => void) => {
      clearTimeout(timer);
      end();
    };
    const fail = (error: Error) => {
      settle(() => reject(error));
      request.destroy();
    };
    const timedOut = () => fail(new TimedOut(call, timeoutMs));
    const dueAt = performance.now() + timeoutMs;
    let timer = setTimeout(() => {
      // So late, the process stood still for a while; the answer may be in the socket, which Node reads after the
      // timers.
      if (performance.now() - dueAt < OVERSLEPT_MS) timedOut();
      else timer = setTimeout(timedOut, SECOND_LOOK_MS);
    }, timeoutMs);

    let isSecured = false;
    let hasAnswer = false;
    const broken = (error: Error) => fail(connectionFailed(call, error, isSecured));
    request.on("socket", (socket) => {
      isSecured = request.reusedSocket;
      if (!isSecured) socket.once("secureConnect", () => (isSecured = true));
    });
    request.on("error", broken);
    request.on("response", (response) => {
      hasAnswer = true;
      const status = response.statusCode ?? 0;
      if (isRedirect(status)) return fail(new RedirectRefused(call, status));
      response.on("error", broken);
      readBody(response, maxBytes, {
        complete: (text) => settle(() => resolve({ status, headers: response.headers, body: text })),
        tooLarge: () => fail(new AnswerTooLarge(call, status, maxBytes)),
      });
    });
    // An answer that switches to another protocol closes the request without an error and without a response.
    request.on("close", () => hasAnswer || broken(new Error("closed without an answer")));
    request.end(body);
  });
}

/**
 * Starts the request; an address or a header that cannot be sent is an error like any other, without its value. Of the
 * address, Node gets what it needs, and all options in one literal: of a URL it copies three times as many members
 * twice, and to copy options costs as much again; each is a tenth of a call's time.
 */
function open(
  call: CallName,
  { headers, signal }: { headers: OutgoingHttpHeaders; signal: AbortSignal | undefined },
  agents: Agents,
): http.ClientRequest {
  const { protocol, hostname, port, pathname, search } = call.url;
  try {
    const options = {
      method: call.method,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: pathname + search,
      headers,
      signal,
      agent: protocol === "https:" ? agents["https:"] : agents["http:"],
    };
    return protocol === "https:" ? https.request(options) : http.request(options);
  } catch (error) {
    throw new ConnectionFailed(call, messageOf(error), false);
  }
}

/** The methods whose body Node sends with its length. */
const FRAMED_BY_NODE = ["POST", "PUT", "PATCH"];

/**
 * Adds the length of the body where Node does not. After a GET or a DELETE, a body without its length would be read as
 * the next request.
 */
function framed(
  { method }: CallName,
  headers: HttpRequest["headers"],
  body: string | undefined,
): OutgoingHttpHeaders {
  const all: OutgoingHttpHeaders = { "accept-encoding": "identity", ...headers };
  if (body !== undefined && !FRAMED_BY_NODE.includes(method)) all["Content-Length"] = Buffer.byteLength(body);
  return all;
}

function readBody(
  response: IncomingMessage,
  maxBytes: number,
  { complete, tooLarge }: { complete: (text: string) => void; tooLarge: () => void },
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) return tooLarge();
    chunks.push(chunk);
  });
  response.on("end", () => complete(Buffer.concat(chunks).toString("utf8")));
}

function connectionFailed(call: CallName, error: Error, isSecured: boolean): ConnectionFailed {
  // Node adds the bytes that it could not parse to the error; they may hold tokens.
  Reflect.deleteProperty(error, "rawPacket");
  const reason = error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
  return new ConnectionFailed(call, reason, mayHaveArrived(error, { isSecured }), error);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}
