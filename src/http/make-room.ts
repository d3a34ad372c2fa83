import type { Server } from "node:http";
import type { Socket } from "node:net";
import { hasAccepted } from "./accepted.ts";

/** Beyond these, each new connection ends a stranger's oldest one. */
const MOST_CONNECTIONS = 3_000;

/**
 * Lets every new connection in, whatever strangers hold: a provision that finds no room is a lost sale. Connections on
 * which right credentials came are spared.
 */
export function makeRoom(server: Server): void {
  const strangers = new Set<Socket>();
  let open = 0;
  server.on("connection", (connection: Socket) => {
    open += 1;
    strangers.add(connection);
    connection.once("close", () => {
      open -= 1;
      strangers.delete(connection);
    });
    if (open > MOST_CONNECTIONS) endOne();
  });

  function endOne(): void {
    for (const connection of strangers) {
      strangers.delete(connection);
      // A reset, so that the kernel too drops what its client does not read.
      if (!hasAccepted(connection)) return void connection.resetAndDestroy();
    }
  }
}
