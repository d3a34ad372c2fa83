import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A connection with its last response. */
export interface Connection extends Socket {
  current?: ServerResponse;
  /** How many of its requests wait for the answers to those before them. */
  waiting?: number;
  /** What cannot be parsed will be refused behind `current`. */
  isRefused?: boolean;
}

/** How many requests clients may send ahead of the answers. Without limits, they would fill the memory. */
export interface PipelineLimits {
  /** Of one connection, those under way and those that wait. */
  mostUnanswered: number;
  /** Of all connections, those that wait. */
  mostWaiting: number;
}

/**
 * Begins the requests of each connection one after the other, where Node would begin those that are sent together at once
 * (assumed, section 1). Of the requests that had to wait, whatever their connection, one is begun in each turn of the event
 * loop: those of other callers come in between. `flooded` is called with the request that goes beyond a limit, before its
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
    // One is under way.
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
      // Those of a closed connection are no longer counted.
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

/** Not if there is none, it was sent, or never will be. */
export const isUnderWay = (response: ServerResponse | undefined): response is ServerResponse =>
  response !== undefined && !response.writableFinished && !response.destroyed;

/** Behind `Connection: close` nothing is carried out (RFC 9112, section 9.6): the client can safely send that again. */
const mayFollow = (connection: Connection, before: ServerResponse | undefined) =>
  connection.writable && before?.getHeader("connection") !== "close";

/** What Node's parser takes for the end of HTTP on a connection, as after an upgrade. */
const PARSE_NO_MORE = 2;

/**
 * Node would still make an object of each request in the 64 kB that it has read: for each connection the event loop would be
 * blocked for 30 ms. Its parser is no public member; without it only that time is lost.
 */
function cut(connection: Connection): void {
  const { parser } = connection as { parser?: { onIncoming(): number } };
  if (parser) parser.onIncoming = () => PARSE_NO_MORE;
  connection.destroy();
}
