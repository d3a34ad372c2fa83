import type { IncomingMessage, Server, ServerResponse } from "node:http";
import net, { type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/**
 * So long whoever has a connection open may still ask, and hears with the answer that it was the last; and so long an answer
 * that was given may take to arrive.
 */
const LAST_ORDERS_MS = 500;
/** The platform does not wait longer for an answer. */
const LONGEST_REQUEST_MS = 20_000;

/**
 * Node keeps with each connection the answer that is being given on it. To keep it by ourselves costs each provision a
 * tenth of its time, for the sake of a moment.
 */
interface Connection extends Socket {
  _httpMessage?: ServerResponse | null;
}

/**
 * What closes a server so that nobody is cut off; to be made before it listens. It resolves when all are answered.
 *
 * A connection that is closed while its owner sends a request on it loses the request, and the owner cannot know whether
 * it was read: for a provision that is a lost sale. So whoever has connected by now is let in, and from then on new
 * connections are refused, which is safe to try elsewhere. Those that are open are told, by the answers that go out on
 * them, the one that is just being given too. Closed are then those on which nobody asks, and at last whatever never
 * completes its request.
 */
export function createGracefulClose(server: Server): () => Promise<void> {
  let came = 0;
  const connections = new Set<Connection>();
  server.on("connection", (socket) => {
    came += 1;
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });

  /** Until all who stood in line are let in: Node takes one new connection in each turn. */
  async function lettingIn(): Promise<void> {
    const until = performance.now() + LAST_ORDERS_MS;
    let seen;
    do {
      seen = came;
      await turn();
      await turn();
    } while (came > seen && performance.now() < until);
  }

  return async () => {
    const sayLastTo = (_request: IncomingMessage, response: ServerResponse) => sayLast(response);
    server.prependListener("request", sayLastTo);
    server.prependListener("checkContinue", sayLastTo);
    for (const { _httpMessage: response } of connections) if (response) sayLast(response);
    await lettingIn();
    const closed = new Promise<void>((resolve) =>
      // Not that of an HTTP server, which ends idle connections at once; that one ends its timer when all is over.
      net.Server.prototype.close.call(server, () => {
        server.close();
        resolve();
      }),
    );
    const idleUntil = performance.now() + LAST_ORDERS_MS;
    // A connection that was busy is idle afterwards, so they are looked for again and again; what has come is read first.
    const sweep = setInterval(async () => {
      if (performance.now() < idleUntil) return;
      await turn();
      server.closeIdleConnections();
      // To Node, one on which nobody ever asked is not idle: browsers open such.
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    }, 100);
    const cut = setTimeout(() => server.closeAllConnections(), LONGEST_REQUEST_MS);
    await closed;
    clearInterval(sweep);
    clearTimeout(cut);
  };
}

function sayLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("Connection", "close");
}
