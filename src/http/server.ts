import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Express } from "express";
import { hasAccepted } from "./accepted.ts";
import { inOrder, refuseNonsense, type Logging } from "./in-order.ts";

/**
 * The HTTP server of an Express app, not yet listening.
 *
 * Its timeouts cut slow clients off (a whole request within 15 s, half a minute without reading a byte of the answer)
 * and outlast the router in front (90 s idle). A client that sends `Expect: 100-continue` is not asked for its body here:
 * it may be refused first, and the code that lets it in asks for the body (`askForBody`).
 */
export function createHttpServer(app: Express, logging?: Logging): Server {
  const handle = inOrder(app);
  const server = http.createServer({ ...constructorsFor(app), connectionsCheckingInterval: 1_000 }, handle);
  server.keepAliveTimeout = 95_000;
  server.headersTimeout = 10_000;
  server.requestTimeout = 15_000;
  server.timeout = 30_000;
  server.on("checkContinue", handle);
  makeRoom(server);
  refuseNonsense(server, logging);
  return server;
}

/**
 * Constructors for requests and responses that have Express's prototypes from the start. Express otherwise changes the
 * prototype of each object, which costs Node 20 and 22 about half their speed. Node 24 has no such penalty, so there
 * Node's own constructors are used.
 *
 * The constructors inherit from Node's, as classes would: V8 estimates from the chain of constructors how many members
 * an object will have, and reserves room for them. Without that room V8 copies a request to a larger place again and
 * again as members are added to it, which takes about an eighth of a provision's time.
 */
function constructorsFor(app: Express): http.ServerOptions {
  if (Number(process.versions.node.split(".")[0]) >= 24) return {};
  function Request(this: IncomingMessage, socket: Socket) {
    (http.IncomingMessage as unknown as (this: unknown, socket: Socket) => void).call(this, socket);
  }
  function Response(this: ServerResponse, request: IncomingMessage, options: unknown) {
    (http.ServerResponse as unknown as (this: unknown, ...args: unknown[]) => void).call(
      this,
      request,
      options,
    );
  }
  Object.setPrototypeOf(Request, http.IncomingMessage);
  Object.setPrototypeOf(Response, http.ServerResponse);
  Request.prototype = app.request;
  Response.prototype = app.response;
  return { IncomingMessage: Request, ServerResponse: Response } as unknown as http.ServerOptions;
}

/** Beyond these, each new connection ends a stranger's oldest one. */
const MOST_CONNECTIONS = 3_000;

/**
 * Lets every new connection in, whatever strangers hold: a provision that finds no room is a lost sale. Connections on
 * which right credentials came are spared.
 */
function makeRoom(server: Server): void {
  const strangers = new Set<Socket>();
  let open = 0;
  server.on("connection", (connection: Socket) => {
    open += 1;
    strangers.add(connection);
    connection.once("close", () => {
      open -= 1;
      strangers.delete(connection);
    });
    if (open > MOST_CONNECTIONS) endOne();
  });

  function endOne(): void {
    for (const connection of strangers) {
      strangers.delete(connection);
      // A reset, so that the kernel too drops what its client does not read.
      if (!hasAccepted(connection)) return void connection.resetAndDestroy();
    }
  }
}
