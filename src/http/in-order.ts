import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Context } from "../context.ts";

/** A client that sends so many requests ahead of the answers is cut off, and any that does while so many wait in all. */
const MOST_WAITING = 20;
const MOST_WAITING_IN_ALL = 1_000;

/** A connection with the response that is being made, the last one to be made, and how many wait. */
export interface Connection extends Socket {
  current?: ServerResponse;
  latest?: ServerResponse;
  waiting?: number;
}

const isOver = (response: ServerResponse | undefined) =>
  !response || response.writableFinished || response.destroyed;

/**
 * Carries out the requests of one connection one after another, as their answers are sent: Node would begin all that
 * are sent together at once (assumed, section 1). Other connections have their turn between two of them.
 */
export function inOrder(handle: RequestListener): RequestListener {
  let waitingInAll = 0;
  return (request, response) => {
    const connection: Connection = request.socket;
    const { latest: before, waiting = 0 } = connection;
    if (connection.destroyed) return;
    connection.latest = response;
    const begin = () => {
      connection.current = response;
      handle(request, response);
    };
    if (isOver(before)) return begin();
    if (waiting >= MOST_WAITING || waitingInAll >= MOST_WAITING_IN_ALL) return void connection.destroy();
    connection.waiting = waiting + 1;
    waitingInAll += 1;
    before!.once("close", () =>
      setImmediate(() => {
        // Of what waits on a connection that ended, only the first is ever told.
        const over = connection.destroyed ? connection.waiting! : 1;
        connection.waiting! -= over;
        waitingInAll -= over;
        if (!connection.destroyed) begin();
      }),
    );
  };
}

/** What Node's parser refuses, by the code of its error, and the answer; anything else is 400. */
const REFUSALS: Readonly<Record<string, [status: string, id: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "headers_too_large", "The headers are too large."], // prettier-ignore
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["413 Payload Too Large", "payload_too_large", "The body is too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "request_timeout", "The request did not come in time."],
};
const MALFORMED = ["400 Bad Request", "bad_request", "The request is not well formed."] as const;

/** Without it nothing is logged. */
export type Logging = Pick<Context, "refusedSample" | "log">;

/**
 * Answers what is no HTTP, or does not come in time, with `{id, message}`, after the whole requests in front of it have
 * their answers.
 */
export function refuseNonsense(server: Server, logging?: Logging): void {
  server.on("clientError", ({ code = "" }: NodeJS.ErrnoException, socket: Connection) => {
    // Browsers open connections that they do not use, and clients go away.
    const isRequest = socket.bytesRead > 0 && code !== "ECONNRESET";
    if (isRequest && logging?.refusedSample.isWritten(socket, "no_request"))
      logging.log.info({ reason: code, address: socket.remoteAddress }, "What came is no HTTP request");
    const [status, id, message] = REFUSALS[code] ?? MALFORMED;
    const body = JSON.stringify({ id, message });
    const refuse = () => {
      const { current } = socket;
      if (!isOver(current) && current!.req.complete) return void current!.once("close", refuse);
      const hasBegun = current?.headersSent === true && !isOver(current);
      if (!socket.writable || hasBegun) return void socket.destroy();
      const head = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}`;
      socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
    };
    refuse();
  });
}
