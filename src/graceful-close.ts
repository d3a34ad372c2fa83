import type { IncomingMessage, Server, ServerResponse } from "node:http";
import net, { type Socket } from "node:net";
import { setImmediate as afterReading } from "node:timers/promises";

/** So long whoever has a connection open may still ask, and hears with the answer that it was the last. */
const LAST_ORDERS_MS = 500;
/** The platform does not wait longer for an answer. */
const LONGEST_REQUEST_MS = 20_000;

/**
 * What closes a server so that nobody is cut off; to be made before it listens. It resolves when all are answered.
 *
 * A connection that is closed while its owner sends a request on it loses the request, and the owner cannot know whether
 * it was read: for a provision that is a lost sale. So new connections are refused at once, which is safe to try
 * elsewhere; but those that are open are told first, by the answers that go out on them, the one that is just being given
 * too. Closed are then those on which nobody asked, and at last whatever never completes its request.
 */
export function createGracefulClose(server: Server): () => Promise<void> {
  let isClosing = false;
  /** Of each open connection the answer that is being given on it, or was last. */
  const answers = new Map<Socket, ServerResponse>();

  const note = ({ socket }: IncomingMessage, response: ServerResponse): void => {
    answers.set(socket, response);
    if (isClosing) sayLast(response);
  };
  server.prependListener("request", note);
  server.prependListener("checkContinue", note);
  server.on("connection", (socket) => socket.once("close", () => answers.delete(socket)));

  return async () => {
    isClosing = true;
    for (const response of answers.values()) sayLast(response);
    // What has come by now is read first.
    await afterReading();
    // Not that of an HTTP server, which ends idle connections at once.
    const closed = new Promise<void>((resolve) => net.Server.prototype.close.call(server, () => resolve()));
    const idleUntil = performance.now() + LAST_ORDERS_MS;
    // A connection that was busy is idle afterwards, so they are looked for again and again.
    const sweep = setInterval(async () => {
      if (performance.now() < idleUntil) return;
      await afterReading();
      server.closeIdleConnections();
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
