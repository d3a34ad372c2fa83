import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import net, { type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { Express, Request } from "express";
import type { Log } from "../logging/log.ts";
import { openConnections } from "./connections.ts";
import { type Connection, inOrder, isUnderWay, type PipelineLimits } from "./pipelines.ts";
import { clientAddress } from "./requests.ts";

/** Clients that send requests ahead of the answers send a few. */
export const PIPELINES: PipelineLimits = { mostUnanswered: 32, mostWaiting: 1_000 };

interface Limits extends Partial<PipelineLimits> {
  /** Open connections. */
  mostConnections: number;
}

/**
 * The HTTP server of an Express app, not yet listening. Its `close` cuts no caller off and resolves when every request is
 * answered; for `lastOrdersMs` callers may still send requests on open connections.
 *
 * Its timeouts cut slow clients off (a whole request within 15 s, half a minute without reading a byte of the answer)
 * and outlast the router in front (90 s idle). The app refuses requests without a `Host`, and asks a client that announces its
 * body (`Expect: 100-continue`) for it (http/requests.ts).
 */
export function createHttpServer(
  app: Express,
  log: Pick<Log, "warn" | "error">,
  { mostConnections, ...ofPipelines }: Limits,
) {
  const flooded = (request: IncomingMessage, limit: string) => {
    // Express has not seen it yet.
    const address = clientAddress(Object.setPrototypeOf(request, app.request) as Request);
    const sent = `A caller sent requests ahead of their answers, more than ${limit}`;
    log.warn({ address }, `${sent}; its connection was closed`);
  };
  const full = ({ remoteAddress }: Socket, closed: string) => {
    const about = { alarm: "too_many_connections", address: clientAddress({ ip: remoteAddress }) };
    log.error(
      about,
      `All ${mostConnections} connections that this process accepts are open; ${closed} was closed`,
    );
  };
  const handle = inOrder(app, { ...PIPELINES, ...ofPipelines }, flooded);
  // The app refuses requests without a Host header (`refuseMalformed`), in their order.
  const options = { connectionsCheckingInterval: 1_000, requireHostHeader: false };
  const server = http.createServer({ ...constructorsFor(app), ...options }, handle);
  server.on("checkContinue", handle);
  server.on("checkExpectation", handle);
  server.on("clientError", ({ code }: NodeJS.ErrnoException, socket: Connection) => refuse(socket, code));
  server.keepAliveTimeout = 95_000;
  server.headersTimeout = 10_000;
  server.requestTimeout = 15_000;
  server.timeout = 30_000;
  const connections = openConnections(server, mostConnections, full);
  return { server, close: (lastOrdersMs: number) => closeInOrder(server, connections, lastOrdersMs) };
}

/**
 * Constructors for requests and responses that have Express's prototypes from the start. Express otherwise changes the
 * prototype of each object, which costs Node 20 and 22 (not 24) about half their speed. They inherit from Node's, as
 * classes would: V8 estimates from the chain of constructors how many members an object will have, which saves about an
 * eighth of a provision's time.
 */
function constructorsFor(app: Express): http.ServerOptions {
  if (Number(process.versions.node.split(".")[0]) >= 24) return {};
  function Request(this: IncomingMessage, socket: Socket) {
    (http.IncomingMessage as unknown as (this: unknown, socket: Socket) => void).call(this, socket);
  }
  function Response(this: ServerResponse, request: IncomingMessage, options: unknown) {
    const Super = http.ServerResponse as unknown as (this: unknown, ...args: unknown[]) => void;
    Super.call(this, request, options);
  }
  Object.setPrototypeOf(Request, http.IncomingMessage);
  Object.setPrototypeOf(Response, http.ServerResponse);
  Request.prototype = app.request;
  Response.prototype = app.response;
  return { IncomingMessage: Request, ServerResponse: Response } as unknown as http.ServerOptions;
}

/** The answers to what Node's parser refuses, by the code of its error. Every other code is answered 400. */
const REFUSALS: Readonly<Record<string, readonly [status: number, id: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "headers_too_large", "The headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "request_timeout", "The request did not come in time."],
};
const MALFORMED = [400, "bad_request", "The request is not well formed."] as const;

/** Refuses bytes that are not HTTP, or a request that is too slow, after the answers to the complete requests before it. */
function refuse(socket: Connection, code = ""): void {
  // Bytes after a request that closes the connection are ignored (RFC 9112, section 9.6).
  if (code === "HPE_CLOSED_CONNECTION") return;
  const { current } = socket;
  const hasBegun = isUnderWay(current);
  if (hasBegun && current.req.complete) {
    // Node calls this again for each further chunk.
    if (!socket.isRefused) current.once("close", () => refuse(socket, code));
    socket.isRefused = true;
    return;
  }
  if (!socket.writable || (hasBegun && current.headersSent)) return void socket.destroy();
  const [status, id, message] = REFUSALS[code] ?? MALFORMED;
  const body = JSON.stringify({ id, message });
  const head = `Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\nContent-Length: ${body.length}`;
  const answer = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${head}\r\nConnection: close\r\n\r\n${body}`;
  socket.end(answer, () => socket.destroy());
}

/** The longest time for which the platform waits for an answer. */
const LONGEST_REQUEST_MS = 20_000;

/**
 * If a connection is closed while a client sends a request on it, the client cannot know whether it was read: for a
 * provision that is a lost sale. So connections that wait to be accepted are accepted first, then new ones are refused,
 * which the client can safely try elsewhere. All responses on open connections say `Connection: close`; after that, idle
 * connections are closed, and finally every connection whose request never completes.
 */
async function closeInOrder(server: Server, connections: Set<Connection>, lastOrdersMs: number) {
  const sayLast = (_request: unknown, response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("Connection", "close");
  };
  for (const event of ["request", "checkContinue", "checkExpectation"])
    server.prependListener(event, sayLast);
  for (const { current } of connections) if (current) sayLast(null, current);

  // Node accepts one queued connection in each turn of the event loop.
  let hasCome = true;
  server.on("connection", () => (hasCome = true));
  for (const until = performance.now() + lastOrdersMs; hasCome && performance.now() < until;) {
    hasCome = false;
    await turn();
    await turn();
  }

  // The `close` of an HTTP server would end idle connections at once; it is called last, to stop that server's timer.
  const closed = new Promise((resolve) => net.Server.prototype.close.call(server, resolve));
  // Repeated, because a busy connection may become idle later. `turn` lets data that has arrived be read first.
  const sweep = setInterval(async () => {
    await turn();
    server.closeIdleConnections();
    // Node does not count a connection that never sent a request as idle. Browsers open such connections.
    for (const connection of connections) if (connection.bytesRead === 0) connection.destroy();
  }, lastOrdersMs);
  const cut = setTimeout(() => server.closeAllConnections(), LONGEST_REQUEST_MS);
  await closed;
  server.close();
  clearInterval(sweep);
  clearTimeout(cut);
}
