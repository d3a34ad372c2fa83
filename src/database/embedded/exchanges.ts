import type { Socket } from "node:net";

const SSL_REQUEST = 80877103;
const CANCEL_REQUEST = 80877102;
const GSS_REQUEST = 80877104;
const [SYNC, QUERY, FUNCTION_CALL, TERMINATE] = ["S", "Q", "F", "X"].map((letter) => letter.charCodeAt(0));

/**
 * Splits what a client sends into whole exchanges: everything up to the point where PostgreSQL would answer
 * ReadyForQuery (https://www.postgresql.org/docs/current/protocol-message-formats.html). Calls `onExchange` for the
 * client's start-up packet, and then for each exchange.
 */
export function readExchanges(socket: Socket, onExchange: (bytes: Buffer) => void): void {
  let unread: Buffer = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  /** Bytes of a message still to come: a large one is put together once, not again with every piece of it. */
  let missing = 0;
  /** Bytes at the start of `unread` that are whole messages of the exchange under way. */
  let scanned = 0;
  let hasStarted = false;

  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    missing -= chunk.length;
    if (missing > 0) return;
    unread = Buffer.concat([unread, ...chunks]);
    chunks = [];
    missing = 0;
    if (!hasStarted) start();
    if (hasStarted) read();
  });

  function start(): void {
    while (!hasStarted && unread.length >= 8) {
      const length = unread.readInt32BE(0);
      const kind = unread.readInt32BE(4);
      if (unread.length < length) return;
      const packet = take(length);
      if (kind === SSL_REQUEST || kind === GSS_REQUEST) socket.write("N");
      else if (kind === CANCEL_REQUEST) socket.end();
      else {
        hasStarted = true;
        onExchange(packet);
      }
    }
  }

  function read(): void {
    while (unread.length >= scanned + 5) {
      const type = unread[scanned];
      const end = scanned + 1 + unread.readInt32BE(scanned + 1);
      if (unread.length < end) {
        missing = end - unread.length;
        return;
      }
      if (type === TERMINATE) return void socket.end();
      if (type === SYNC || type === QUERY || type === FUNCTION_CALL) onExchange(take(end));
      else scanned = end;
    }
  }

  function take(length: number): Buffer {
    const taken = unread.subarray(0, length);
    unread = unread.subarray(length);
    scanned = 0;
    return taken;
  }
}
