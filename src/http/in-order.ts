import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A client that sends so many requests without reading the answers is cut off. */
const MOST_WAITING = 100;

/** A connection with the response that is being made, the last one to be made, and how many wait. */
interface Connection extends Socket {
  current?: ServerResponse;
  latest?: ServerResponse;
  unanswered?: number;
}

const isOver = (response: ServerResponse | undefined) =>
  !response || response.writableFinished || response.destroyed;

/**
 * Carries out the requests of one connection one after another, as their answers are sent: Node would begin all that
 * are sent together at once (assumed, section 1).
 */
export function inOrder(handle: RequestListener): RequestListener {
  return (request, response) => {
    const connection: Connection = request.socket;
    const before = connection.latest;
    connection.latest = response;
    const begin = () => {
      connection.current = response;
      handle(request, response);
    };
    if (isOver(before)) return begin();
    connection.unanswered = (connection.unanswered ?? 0) + 1;
    if (connection.unanswered > MOST_WAITING) return void connection.destroy();
    before!.once("close", () => {
      connection.unanswered! -= 1;
      if (!connection.destroyed) begin();
    });
  };
}

/** What Node's parser refuses, by the code of its error, and the answer; anything else is 400. */
const REFUSALS: Readonly<Record<string, [status: string, id: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    "431 Request Header Fields Too Large",
    "headers_too_large",
    "The headers are too large.",
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["413 Payload Too Large", "payload_too_large", "The body is too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "request_timeout", "The request did not come in time."],
};
const MALFORMED = ["400 Bad Request", "bad_request", "The request is not well formed."] as const;

/**
 * Answers what is no HTTP, or does not come in time, with `{id, message}`, after the whole requests in front of it have
 * their answers.
 */
export function refuseNonsense(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Connection) => {
    const [status, id, message] = REFUSALS[error.code ?? ""] ?? MALFORMED;
    const body = JSON.stringify({ id, message });
    const refuse = () => {
      const { current } = socket;
      if (!isOver(current) && current!.req.complete) return void current!.once("close", refuse);
      if (!socket.writable || (current?.headersSent === true && !isOver(current)))
        return void socket.destroy();
      const head = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}`;
      socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
    };
    refuse();
  });
}
