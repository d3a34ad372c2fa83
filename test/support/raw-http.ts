import { connect } from "node:net";

interface RawAnswer {
  /** The status of each answer on the connection, `100 Continue` included. */
  statuses: number[];
  text: string;
  /** True if the service closed the connection; false if it was silent for `quietMs`. */
  closed: boolean;
}

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
    socket.setTimeout(quietMs, () => answer(false));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => answer(true));
    socket.on("end", () => answer(true));
    socket.write(bytes);
  });
}
