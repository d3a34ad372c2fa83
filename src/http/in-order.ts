import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A client that sends so many requests without reading the answers is cut off. */
const MOST_UNANSWERED = 100;

/** A connection with its latest response, and how many requests on it are not answered. */
interface Connection extends Socket {
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
    if (isOver(before)) return handle(request, response);
    connection.unanswered = (connection.unanswered ?? 0) + 1;
    if (connection.unanswered > MOST_UNANSWERED) return void connection.destroy();
    before!.once("close", () => {
      connection.unanswered! -= 1;
      if (!connection.destroyed) handle(request, response);
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

/** Answers what is no HTTP with `{id, message}`, after the requests in front of it have their answers. */
export function refuseNonsense(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const { latest }: Connection = socket;
    const [status, id, message] = REFUSALS[error.code ?? ""] ?? MALFORMED;
    const body = JSON.stringify({ id, message });
    const refuse = () => {
      if (!socket.writable) return void socket.destroy();
      const head = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}`;
      socket.end(`HTTP/1.1 ${status}\r\n${head}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
    };
    if (isOver(latest)) refuse();
    else latest!.once("close", refuse);
  });
}
