import http from "node:http";
import net, { type AddressInfo } from "node:net";

export interface Seen {
  method: string;
  url: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export type Answering = (seen: Seen, response: http.ServerResponse) => void;

/** A real server on a free port, with the requests it got. To be closed by the test that opened it. */
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
  const url = await listening(server, "http");
  const close = () => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url, seen, close };
}

/** A server that passes all received bytes to `answer`, which writes to the socket. */
export async function aRawServer(answer: (socket: net.Socket, connection: number, received: Buffer) => void) {
  const sockets = new Set<net.Socket>();
  let connections = 0;
  const server = net.createServer((socket) => {
    const connection = (connections += 1);
    sockets.add(socket);
    socket.on("error", () => {}).on("data", (received) => answer(socket, connection, received));
  });
  const url = await listening(server, "http");
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url, close, connections: () => connections };
}

/** An address where nobody listens. */
export async function aClosedPort(): Promise<string> {
  const server = net.createServer();
  const url = await listening(server, "http");
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return url;
}

async function listening(server: net.Server, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What is to be closed after each test of a file, the last first. */
export function closings(): (() => unknown)[] {
  const toClose: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of toClose.splice(0).reverse()) await close();
  });
  return toClose;
}
