import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** A server that refuses every client as PostgreSQL does, with this SQLSTATE; with an empty state, one without TLS. */
export async function aRefusingDatabase(state: string, words: string) {
  const server = createServer((socket) => {
    socket.on("error", () => undefined).on("data", () => socket.end(state ? refusal(state, words) : "N"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://shop:hunter2hunter2@127.0.0.1:${port}/addon`,
    close: () => once(server.close(), "close"),
  };
}

/** The message with which PostgreSQL refuses a connection. */
function refusal(state: string, words: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0M${words}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
