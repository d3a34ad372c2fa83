import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A connection with its last response. */
export interface Connection extends Socket {
  current?: ServerResponse;
  /** How many of its requests wait for the answers to earlier requests. */
  waiting?: number;
  /** The rest of the connection cannot be parsed. It is refused after `current` was answered. */
  isRefused?: boolean;
}

/** How many requests clients may send ahead of the answers. Without limits, they would fill the memory. */
export interface PipelineLimits {
  /** The most requests of one connection, under way and waiting. */
  mostUnanswered: number;
  /** The most waiting requests of all connections. */
  mostWaiting: number;
}

/**
 * Begins the requests of each connection one after the other (assumed, section 1); Node would begin all requests at once
 * that were sent together. In each turn of the event loop one waiting request is begun, whatever its connection, so that
 * requests of other callers come in between. `flooded` is called with the request that exceeds a limit, before its
 * connection is cut.
 */
export function inOrder(
  begin: RequestListener,
  { mostUnanswered, mostWaiting }: PipelineLimits,
  flooded: (request: IncomingMessage, limit: string) => void,
): RequestListener {
  let waiting = 0;
  const due: (() => void)[] = [];
  const beginNext = () => {
    const next = due.shift()!;
    if (due.length > 0) setImmediate(beginNext);
    next();
  };

  function limitBelow(itsWaiting: number): string | null {
    // One request is under way and is not counted as waiting.
    if (itsWaiting >= mostUnanswered) return `${mostUnanswered} on one connection`;
    return waiting > mostWaiting ? `${mostWaiting} on all connections` : null;
  }

  function wait(request: IncomingMessage, response: ServerResponse, before: ServerResponse): void {
    const connection: Connection = request.socket;
    if (connection.waiting === undefined) connection.once("close", () => (waiting -= connection.waiting!));
    connection.waiting = (connection.waiting ?? 0) + 1;
    waiting += 1;
    const limit = limitBelow(connection.waiting);
    if (limit) {
      flooded(request, limit);
      return cut(connection);
    }
    const beginInTurn = () => {
      // The requests of a closed connection are no longer counted.
      if (connection.destroyed) return;
      connection.waiting! -= 1;
      waiting -= 1;
      if (mayFollow(connection, before)) begin(request, response);
    };
    before.once("close", () => due.push(beginInTurn) === 1 && setImmediate(beginNext));
  }

  return (request, response) => {
    const connection: Connection = request.socket;
    if (connection.destroyed) return;
    const before = connection.current;
    connection.current = response;
    if (isUnderWay(before)) wait(request, response, before);
    else if (mayFollow(connection, before)) begin(request, response);
  };
}

/** Returns `false` if there is no response, it was sent, or its connection is closed. */
export const isUnderWay = (response: ServerResponse | undefined): response is ServerResponse =>
  response !== undefined && !response.writableFinished && !response.destroyed;

/** A request after `Connection: close` is not carried out (RFC 9112, section 9.6), so the client can safely send it again. */
const mayFollow = (connection: Connection, before: ServerResponse | undefined) =>
  connection.writable && before?.getHeader("connection") !== "close";

/** Ends the parsing of a connection, as after an upgrade. */
const PARSE_NO_MORE = 2;

/**
 * Closes a connection and stops its parser. Node would still make an object of each request in the 64 kB that it has read,
 * which blocks the event loop for 30 ms. The parser is not a public member; if a release of Node lacks it, only that time is
 * lost.
 */
function cut(connection: Connection): void {
  const { parser } = connection as { parser?: { onIncoming(): number } };
  if (parser) parser.onIncoming = () => PARSE_NO_MORE;
  connection.destroy();
}
