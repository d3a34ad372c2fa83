import { connect } from "node:net";

interface RawAnswer {
  /** The status of each answer on the connection, `100 Continue` included. */
  statuses: number[];
  text: string;
  /** True if the service closed the connection; false if it was silent for `quietMs`. */
  closed: boolean;
}

const LOOK_EVERY_MS = 20;

/**
 * Sends bytes that no HTTP client would send, and collects the answer until the service closes the connection or is
 * silent for `quietMs`.
 */
export function rawHttp(url: string, bytes: string | Buffer, quietMs = 1_000): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const chunks: Buffer[] = [];
    const answer = (closed: boolean) => {
      socket.destroy();
      const text = Buffer.concat(chunks).toString("latin1");
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
      resolve({ statuses, text, closed });
    };
    // By turns and not by the clock: while this process stands still, it reads nothing either.
    let quiet = 0;
    const look = setInterval(() => (quiet += LOOK_EVERY_MS) >= quietMs && answer(false), LOOK_EVERY_MS);
    socket.on("close", () => clearInterval(look));
    socket.on("data", (chunk) => {
      quiet = 0;
      chunks.push(chunk);
    });
    socket.on("error", () => answer(true));
    socket.on("end", () => answer(true));
    socket.write(bytes);
  });
}
