import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { createHttp } from "../../src/platform/http.ts";

export interface Seen {
  method: string;
  url: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export type Answering = (seen: Seen, response: http.ServerResponse) => void;

/** What is closed after the tests of a file, the last first. */
export const toClose: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

/** A real server on a free port, with the requests it got, until the file's tests have ended. */
export async function aServer(answer: Answering) {
  const seen: Seen[] = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      seen.push({ method, url, headers, body });
      answer({ method, url, headers, body }, response);
    });
  });
  const url = await listening(server);
  toClose.push(() => void server.close().closeAllConnections());
  return { url, seen };
}

/** Gives these answers in order, and then repeats the last one. A number is a status with an error body. */
export function inOrder(...answers: (number | object | string)[]): Answering {
  let next = 0;
  return (_seen, response) => {
    const answer = answers[Math.min(next++, answers.length - 1)];
    if (typeof answer === "number") {
      return response.writeHead(answer).end(JSON.stringify({ id: `said_${answer}`, message: "no" }));
    }
    return response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  };
}

/** A client, until the file's tests have ended. */
export function anHttp(limits: Parameters<typeof createHttp>[0] = {}) {
  const client = createHttp(limits);
  toClose.push(client.close);
  return client;
}

/** A server that passes all received bytes to `answer`, which writes to the socket. */
export async function aRawServer(answer: (socket: net.Socket, received: Buffer) => void) {
  const sockets = new Set<net.Socket>();
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {}).on("data", (received) => answer(socket, received));
  });
  const url = await listening(server);
  toClose.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { url, connections: () => connections };
}

/** An address where nobody listens. */
export async function aClosedPort(): Promise<string> {
  const server = net.createServer();
  const url = await listening(server);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return url;
}

async function listening(server: net.Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
