import net from "node:net";
import { takeMessage } from "./http-message.ts";

/** Handles a request. It calls `send` at once or later. */
type Handle = (
  request: { method: string; path: string; body: string },
  send: (status: number, body: unknown) => void,
) => void;

/**
 * The part of HTTP that the clients of a bench use: requests with a content length or without a body, one at a time on
 * a keep-alive connection. It shares its processors with PostgreSQL, which would lack the time that node's own HTTP
 * server takes.
 */
export function createBareServer(handle: Handle): net.Server {
  return net.createServer({ noDelay: true }, (socket) => {
    let received = "";
    const send = (status: number, answer: unknown) => {
      const body = JSON.stringify(answer);
      const head = `HTTP/1.1 ${status} -\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.write(`${head}\r\n\r\n${body}`, "latin1");
    };
    socket.setEncoding("latin1");
    socket.on("error", () => socket.destroy());
    socket.on("data", (piece: string) => {
      received += piece;
      const message = takeMessage(received);
      if (!message) return;
      received = message.rest;
      const [method = "", path = ""] = message.head.split(" ", 2);
      handle({ method, path, body: message.body }, send);
    });
  });
}
