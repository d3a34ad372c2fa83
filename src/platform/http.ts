import http, { type IncomingHttpHeaders } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { messageOf } from "../errors.ts";
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
  // Most servers close an idle connection after 5 s or more; closing earlier avoids writing into a closed one.
  idleSocketMs = 4_000,
} = {}): Http {
  const options = { keepAlive: true, maxSockets, timeout: idleSocketMs };
  const agents = { "http:": new http.Agent(options), "https:": new https.Agent(options) };
  const client: Client = { timeoutMs, maxBytes, agents, open: new WeakSet() };
  let isClosed = false;
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

/** Runs `ask` with an HTTP client of its own, which is closed afterwards in any case. */
export async function withHttp<Result>(
  ask: (http: Http) => Promise<Result>,
  limits?: Parameters<typeof createHttp>[0],
): Promise<Result> {
  const http = createHttp(limits);
  try {
    return await ask(http);
  } finally {
    await http.close();
  }
}

interface Client {
  timeoutMs: number;
  maxBytes: number;
  agents: { "http:": http.Agent; "https:": https.Agent };
  /** Connections on which a request can be written: connected, and over https with a certificate that was checked. */
  open: WeakSet<Socket>;
}

function exchange(client: Client, call: CallName, sent: HttpRequest): Promise<HttpAnswer> {
  const { timeoutMs = client.timeoutMs, maxBytes = client.maxBytes } = sent;
  return new Promise((resolve, reject) => {
    const request = open(client, call, sent);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
      request.destroy();
    };
    // Node runs timers before it reads sockets: after the process was suspended, the answer may be waiting there.
    const timer = setTimeout(() => setImmediate(fail, new TimedOut(call, timeoutMs)), timeoutMs);

    let socket: Socket | undefined;
    let hasAnswer = false;
    // Before the connection is open, the other side certainly saw nothing of the request; from then on it may have.
    const broken = (error: Error) =>
      fail(connectionFailed(call, error, socket !== undefined && client.open.has(socket)));
    request.on("socket", (assigned) => {
      socket = assigned;
      if (client.open.has(assigned)) return;
      assigned.once(call.url.protocol === "https:" ? "secureConnect" : "connect", () =>
        client.open.add(assigned),
      );
    });
    request.on("error", broken);
    request.on("response", (response) => {
      hasAnswer = true;
      const status = response.statusCode ?? 0;
      if (status >= 300 && status < 400 && status !== 304) return fail(new RedirectRefused(call, status));
      response.on("error", broken);
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if ((bytes += chunk.length) > maxBytes) fail(new AnswerTooLarge(call, status, maxBytes));
      });
      response.on("end", () => {
        clearTimeout(timer);
        resolve({ status, headers: response.headers, body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    // An answer that switches to another protocol closes the request without an error and without a response.
    request.on("close", () => hasAnswer || broken(new Error("closed without an answer")));
    request.end(sent.body);
  });
}

/**
 * Starts the request; an address or a header that cannot be sent is an error like any other, without its value. Node
 * gets only the parts of the address that it needs, in one literal: it would copy a whole URL twice.
 */
function open(
  { agents }: Client,
  call: CallName,
  { headers, body, signal }: HttpRequest,
): http.ClientRequest {
  const { protocol, hostname, port, pathname, search } = call.url;
  try {
    const options = {
      method: call.method,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: pathname + search,
      // Node sends no length of a body after GET or DELETE, and the server would read it as the next request.
      headers: {
        "accept-encoding": "identity",
        ...headers,
        ...(body !== undefined && { "Content-Length": Buffer.byteLength(body) }),
      },
      signal,
      agent: protocol === "https:" ? agents["https:"] : agents["http:"],
    };
    return protocol === "https:" ? https.request(options) : http.request(options);
  } catch (error) {
    throw new ConnectionFailed(call, messageOf(error), false);
  }
}

function connectionFailed(call: CallName, error: Error, mayHaveArrived: boolean): ConnectionFailed {
  // Node adds the bytes that it could not parse to the error; they may hold tokens.
  Reflect.deleteProperty(error, "rawPacket");
  const reason = error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
  return new ConnectionFailed(call, reason, mayHaveArrived, error);
}
