import { AsyncLocalStorage } from "node:async_hooks";
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A request to be sent, with all its headers. */
export interface Outgoing {
  method: string;
  /** Appended to the base address. */
  path: string;
  headers: Record<string, string | string[]>;
  body?: string | Buffer;
  /**
   * Sends the body in pieces of `bytes` with a pause after each, and without a Content-Length unless `headers` has one.
   */
  pieces?: { bytes: number; pauseMs: number };
}

/** An answer that was received, or that is to be given. */
export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** From sending the request to the end of the answer. */
  ms: number;
  /** The connection carried another request before. */
  isReused?: boolean;
  /** The call, without its query, such as `PUT /resources/…`. */
  to?: string;
  /** The id of the rule for which the call was made. */
  rule?: string | undefined;
}

/** The id of the rule that is being judged, for the calls made for it. */
export const callsOfRule = new AsyncLocalStorage<string | undefined>();

/** As long as the platform waits. */
export const ANSWERED_WITHIN_MS = 20_000;

type How = Pick<NoAnswer, "isTimeout" | "isConnected" | "isSent" | "isBegun">;

/** A call without an answer, with Node's error; some of these errors have only a code. */
export class NoAnswer extends Error {
  /** The time limit was reached, and nobody closed the connection. */
  readonly isTimeout: boolean;
  /** Somebody had taken the connection by then. */
  readonly isConnected: boolean;
  /** The whole request had been sent by then. */
  readonly isSent: boolean;
  /** An answer had begun by then. */
  readonly isBegun: boolean;

  constructor(cause: NodeJS.ErrnoException, how: How) {
    super((cause.message || cause.code) ?? String(cause), { cause });
    this.isTimeout = how.isTimeout;
    this.isConnected = how.isConnected;
    this.isSent = how.isSent;
    this.isBegun = how.isBegun;
  }
}

const MB = 1024 * 1024;
const LONGEST_BODY = 16 * MB;
/** A service that answers with more is not read to the end. */
const LONGEST_ANSWER = 4 * MB;

/** Headers that belong to one connection and are not forwarded. */
const OWN_HEADERS = new Set([
  ...["host", "connection", "keep-alive", "te", "trailer", "upgrade"],
  ...["content-length", "transfer-encoding"],
]);

/** Sends one request and reads its whole answer; redirects are not followed. Rejects with {@link NoAnswer}. */
export function send(
  base: string,
  { method, path, headers, body, pieces }: Outgoing,
  withinMs = ANSWERED_WITHIN_MS,
  agent?: http.Agent,
) {
  const url = new URL(base.replace(/\/+$/, "") + path);
  const { request: open } = url.protocol === "https:" ? https : http;
  const length = body === undefined || pieces ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const started = performance.now();
  return new Promise<Reply>((resolve, reject) => {
    const options = { method, headers: { ...length, ...headers }, agent: agent ?? false };
    const request = open(url, options as http.RequestOptions);
    const how = { isTimeout: false, isConnected: false, isSent: false, isBegun: false };
    request.on("socket", (socket) => {
      if (!socket.connecting) how.isConnected = true;
      else socket.once("connect", () => (how.isConnected = true));
    });
    const fail = (cause: Error) => reject(new NoAnswer(cause, how));
    const timer = setTimeout(() => {
      Object.assign(how, { isTimeout: true, isSent: request.writableFinished });
      const what = how.isBegun ? "The answer had no end" : "There was no answer";
      fail(new Error(`${what} within ${withinMs / 1000} s.`));
      request.destroy();
    }, withinMs);
    request.on("close", () => clearTimeout(timer));
    request.on("error", fail);
    request.on("response", (response: IncomingMessage) => {
      how.isBegun = true;
      readText(response, LONGEST_ANSWER).then(
        (text) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            ms: Math.round(performance.now() - started),
            isReused: request.reusedSocket,
            to: `${method} ${url.pathname}`,
            rule: callsOfRule.getStore(),
          }),
        fail,
      );
    });
    if (pieces && body !== undefined) void sendPieces(request, Buffer.from(body), pieces);
    else request.end(body);
  });
}

async function sendPieces(
  request: http.ClientRequest,
  body: Buffer,
  pieces: { bytes: number; pauseMs: number },
) {
  for (let at = 0; at < body.length && !request.destroyed; at += pieces.bytes) {
    request.write(body.subarray(at, at + pieces.bytes));
    await sleep(pieces.pauseMs);
  }
  request.end();
}

/** Throws for a body without an end. */
export async function readText(message: IncomingMessage, longest = LONGEST_BODY): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if ((length += chunk.length) > longest) throw new Error(`The body has more than ${longest / MB} MB.`);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Headers that can be forwarded over another connection. */
export function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const entries = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !OWN_HEADERS.has(name),
  );
  return Object.fromEntries(entries) as Record<string, string | string[]>;
}

export function giveReply(response: ServerResponse, { status, headers, text }: Reply): void {
  const hasBody = status !== 204 && status !== 304;
  const length = hasBody ? { "content-length": Buffer.byteLength(text) } : {};
  response.writeHead(status, { ...passedOn(headers), ...length });
  response.end(hasBody ? text : undefined);
}

/** A JSON answer. */
export function jsonReply(status: number, body: unknown, headers: IncomingHttpHeaders = {}): Reply {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    text: JSON.stringify(body),
    ms: 0,
  };
}

/** The JSON value of a text; undefined if it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The members of a JSON object; an empty object if the text is something else. */
export function membersIn(text: string): Record<string, unknown> {
  const value = jsonIn(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : {};
}

export interface Listening {
  url: string;
  close(): Promise<void>;
}

/** Longer than clients pause between calls, so that none sends into a connection that is being closed. */
const KEEP_ALIVE_MS = 75_000;

/** Starts a server for `handle`; if `handle` rejects, the connection is cut. */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  { port = 0, host = "127.0.0.1" } = {},
): Promise<Listening> {
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return {
    url: `http://${shown.includes(":") ? `[${shown}]` : shown}:${address.port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
