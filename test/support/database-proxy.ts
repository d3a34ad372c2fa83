import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { impatient } from "./database.ts";

/**
 * The state of the proxy between the service and its database. `ok`: everything passes. `refuse`: connections are
 * closed. `black-hole`: connections stay open, but no bytes pass. `drop-replies`: the database gets the requests, and
 * the service gets no answers. `cut-after-commit`: the database commits, and the connection ends before the answer
 * arrives.
 */
export type ProxyMode = "ok" | "refuse" | "black-hole" | "drop-replies" | "cut-after-commit";

export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  url: string;
  mode(mode: ProxyMode): void;
  /** New connections lead to another server from now on. */
  leadTo(databaseUrl: string): void;
  /** Closes every connection, as a restart of the database does. */
  cut(): void;
  close(): Promise<void>;
}

/** The `CommandComplete` message of PostgreSQL for COMMIT. */
const COMMITTED = Buffer.from("C\0\0\0\x0bCOMMIT\0", "latin1");

/**
 * A TCP proxy in front of the PostgreSQL at `databaseUrl`, whose mode can be changed while connections are open. A service
 * behind it has its own limits again.
 */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  let target = new URL(databaseUrl);
  const open = new Set<Socket>();
  let now: ProxyMode = "ok";

  const server = createServer((client) => {
    if (now === "refuse") return void client.destroy();
    const database = connect(Number(target.port || 5432), target.hostname);
    for (const [socket, other] of [
      [client, database],
      [database, client],
    ] as const) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (now !== "black-hole") database.write(bytes);
    });
    database.on("data", (bytes) => {
      if (now === "black-hole" || now === "drop-replies") return;
      if (now === "cut-after-commit" && bytes.includes(COMMITTED)) return void client.destroy();
      client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => open.forEach((socket) => socket.destroy());
  const url = new URL(impatient(databaseUrl));
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    leadTo: (other) => void (target = new URL(other)),
    mode(mode) {
      now = mode;
      if (mode === "refuse") cut();
      // Bytes were dropped, so the rest of these streams would make no sense to either side.
      if (mode === "ok") cut();
    },
    cut,
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
