import net from "node:net";

/** An answer, and how to send it: at once, or when the caller thinks fit. */
export type Handle = (
  request: { method: string; path: string; body: string },
  send: (status: number, body: unknown) => void,
) => void;

/**
 * HTTP as far as the clients of a bench speak it: requests with a length or without a body, one at a time on a connection
 * that stays open. It shares its processor with PostgreSQL, and what node's own server takes would be missing there.
 */
export function createBareServer(handle: Handle): net.Server {
  return net.createServer({ noDelay: true }, (socket) => {
    let text = "";
    const send = (status: number, answer: unknown) => {
      const body = JSON.stringify(answer);
      const head = `HTTP/1.1 ${status} -\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.write(`${head}\r\n\r\n${body}`, "latin1");
    };
    socket.setEncoding("latin1");
    socket.on("error", () => socket.destroy());
    socket.on("data", (piece: string) => {
      text += piece;
      const head = text.indexOf("\r\n\r\n");
      if (head === -1) return;
      const [, length = "0"] = /\r\ncontent-length: *(\d+)/i.exec(text) ?? [];
      const end = head + 4 + Number(length);
      if (text.length < end) return;
      const [method = "", path = ""] = text.slice(0, text.indexOf("\r\n")).split(" ");
      const body = text.slice(head + 4, end);
      text = text.slice(end);
      handle({ method, path, body }, send);
    });
  });
}
