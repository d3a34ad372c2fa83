import type { IncomingMessage, Server, ServerResponse } from "node:http";
import net, { type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { Pace } from "../pace.ts";

/** The platform does not wait longer for an answer. */
const LONGEST_REQUEST_MS = 20_000;

/**
 * `_httpMessage` is Node's own reference from a connection to the response in progress on it. Tracking the responses
 * ourselves would cost each provision a tenth of its time, and serve only this one moment.
 */
interface Connection extends Socket {
  _httpMessage?: ServerResponse | null;
}

/**
 * Returns a function that closes the server without cutting a caller off; it resolves when every request is answered.
 * To be called before the server listens.
 *
 * If a connection is closed while a client sends a request on it, the request is lost, and the client cannot know
 * whether it was read: for a provision that is a lost sale. So connections that wait to be accepted are accepted first.
 * From then on new connections are refused, which the client can safely try elsewhere. All responses on open
 * connections, the one in progress too, say `Connection: close`. After that, idle connections are closed, and finally
 * every connection whose request never completes.
 */
export function createGracefulClose(
  server: Server,
  { lastOrdersMs }: Pick<Pace, "lastOrdersMs">,
): () => Promise<void> {
  let came = 0;
  const connections = new Set<Connection>();
  server.on("connection", (socket) => {
    came += 1;
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });

  /** Waits until all queued connections are accepted: Node accepts one in each turn of the event loop. */
  async function lettingIn(): Promise<void> {
    const until = performance.now() + lastOrdersMs;
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
      // The `close` of an HTTP server would end idle connections at once; it is called last, to stop that server's
      // timer.
      net.Server.prototype.close.call(server, () => {
        server.close();
        resolve();
      }),
    );
    const idleUntil = performance.now() + lastOrdersMs;
    // Repeated, because a busy connection may become idle later. `turn` lets data that has arrived be read first.
    const sweep = setInterval(async () => {
      if (performance.now() < idleUntil) return;
      await turn();
      server.closeIdleConnections();
      // Node does not count a connection that never sent a request as idle. Browsers open such connections.
      for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    }, lastOrdersMs / 5);
    const cut = setTimeout(() => server.closeAllConnections(), LONGEST_REQUEST_MS);
    await closed;
    clearInterval(sweep);
    clearTimeout(cut);
  };
}

function sayLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("Connection", "close");
}
