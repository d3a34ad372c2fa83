import http from "node:http";
import https from "node:https";
import { messageOf } from "../errors.ts";
import { type CallName, type Http, type HttpAnswer, type HttpRequest, TransportError } from "./call.ts";

/**
 * The only client for the platform: Node's own, with connections that are kept alive, without a proxy, redirects or retries.
 * `timeoutMs` runs from the call to the last byte, so that a dripping answer ends, too. The wait for one of the `maxSockets`
 * connections per origin counts.
 */
export function createHttp({ timeoutMs = 15_000, maxBytes = 1_000_000, maxSockets = 128 } = {}): Http {
  // Most servers close an idle connection after 5 s or more; closing earlier avoids writing into a closed one.
  const options = { keepAlive: true, maxSockets, timeout: 4_000 };
  const agents = { http: new http.Agent(options), https: new https.Agent(options) };
  const inFlight = new Set<Promise<HttpAnswer>>();
  let isClosed = false;

  return {
    async send(request) {
      const { method, url } = request;
      const call = { method, url: typeof url === "string" ? new URL(url) : url };
      if (isClosed) throw notSent(call, "the client is closed");
      const answer = exchange(call, { timeoutMs, maxBytes, ...request }, agents);
      inFlight.add(answer);
      try {
        return await answer;
      } finally {
        inFlight.delete(answer);
      }
    },
    async close() {
      isClosed = true;
      await Promise.allSettled(inFlight);
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

export async function withHttp<Result>(
  ask: (http: Http) => Promise<Result>,
  limits?: Parameters<typeof createHttp>[0],
): Promise<Result> {
  const client = createHttp(limits);
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

type Agents = { http: http.Agent; https: https.Agent };
type Limited = HttpRequest & { timeoutMs: number; maxBytes: number };

function exchange(call: CallName, sent: Limited, agents: Agents): Promise<HttpAnswer> {
  const { timeoutMs, maxBytes } = sent;
  return new Promise((resolve, reject) => {
    const request = open(call, sent, agents);
    const fail = (error: TransportError) => {
      clearTimeout(timer);
      reject(error);
      request.destroy();
    };
    const late = () =>
      fail(
        new TransportError("timed_out", call, `had no complete answer after ${timeoutMs} ms`, {
          mayHaveArrived: isOpen,
        }),
      );
    // Node runs timers before it reads sockets: after the process was suspended, the answer may be waiting there.
    const timer = setTimeout(() => setImmediate(late), timeoutMs);

    // The other side may have received the request only once the connection is open, over https with its certificate checked.
    let isOpen = false;
    request.on("socket", (socket) => {
      const opened = call.url.protocol === "https:" ? "secureConnect" : "connect";
      if (socket.connecting) socket.once(opened, () => (isOpen = true));
      // A socket that could not begin to connect, without a free file descriptor or port, is destroyed already.
      else isOpen = !socket.destroyed;
    });
    let hasAnswer = false;
    const refuse = (id: "redirect_refused" | "answer_too_large", status: number, happened: string) =>
      fail(new TransportError(id, call, happened, { status }));
    const broken = (error: Error) =>
      fail(isOpen ? lost(call, error) : notSent(call, messageOf(error), error));
    request.on("error", broken);
    request.on("response", (response) => {
      hasAnswer = true;
      const status = response.statusCode ?? 0;
      // Never followed: a 307 would send the client secret there (assumed, section 3).
      if (status >= 300 && status < 400 && status !== 304)
        return refuse(
          "redirect_refused",
          status,
          `answered with the redirect ${status}, which is not followed`,
        );
      response.on("error", broken);
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if ((bytes += chunk.length) > maxBytes)
          refuse("answer_too_large", status, `answered ${status} with more than ${maxBytes} bytes`);
      });
      response.on("end", () => {
        clearTimeout(timer);
        resolve({ status, headers: response.headers, body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    // After an answer that switches to another protocol, the request closes without an error and without a response.
    request.on("close", () => hasAnswer || broken(new Error("closed without an answer")));
    request.end(sent.body);
  });
}

/**
 * Starts the request. An invalid address or header is reported like any other error, without its value. Node gets only the
 * parts of the address that it needs, in one literal, because it would copy a whole URL twice.
 */
function open(call: CallName, { headers, body }: HttpRequest, agents: Agents): http.ClientRequest {
  const { protocol, hostname, port, pathname, search } = call.url;
  const sent: http.OutgoingHttpHeaders = { "accept-encoding": "identity", ...headers };
  // Node sends no length for the body of a GET or DELETE, and the server would read that body as the next request.
  if (body !== undefined) sent["Content-Length"] = Buffer.byteLength(body);
  const isHttps = protocol === "https:";
  try {
    const options = {
      method: call.method,
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: pathname + search,
      headers: sent,
      agent: isHttps ? agents.https : agents.http,
    };
    return isHttps ? https.request(options) : http.request(options);
  } catch (error) {
    throw notSent(call, messageOf(error));
  }
}

function notSent(call: CallName, reason: string, cause?: Error): TransportError {
  const about = { mayHaveArrived: false, cause };
  return new TransportError("connection_failed", call, `could not be sent: ${reason}`, about);
}

function lost(call: CallName, cause: Error): TransportError {
  // Node adds the bytes that it could not parse to the error. They may contain tokens.
  Reflect.deleteProperty(cause, "rawPacket");
  return new TransportError("connection_failed", call, `lost its connection: ${messageOf(cause)}`, { cause });
}
