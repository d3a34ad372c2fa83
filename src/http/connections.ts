import type { Server } from "node:http";
import { type Connection, isUnderWay } from "./pipelines.ts";
import { isAuthenticated } from "./requests.ts";

/** What is closed for a new connection, by its rank: a stranger's goes first. */
const CLOSED = ["the oldest idle one", "the oldest busy one", "the oldest idle one that was authenticated"];
const BUSY_STRANGER = 1;

/** While a stranger's connection is among the others, the newest ones are spared: their first request may be on its way. */
const SPARED = 1 / 8;

/**
 * The open connections of a server, the oldest first. There are `most` at most: further ones would use up the file
 * descriptors of the process, and then no caller could connect, the platform neither. So one is closed for each new one;
 * never one with an authenticated request under way. `full` is called before that.
 */
export function openConnections(
  server: Server,
  most: number,
  full: (closed: Connection, what: string) => void,
): Set<Connection> {
  const connections = new Set<Connection>();
  server.on("connection", (connection: Connection) => {
    if (connections.size >= most) {
      const { closed = connection, rank } = leastWanted(connections);
      full(closed, CLOSED[rank] ?? "the new one");
      connections.delete(closed);
      closed.destroy();
      if (closed === connection) return;
    }
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  return connections;
}

/** The oldest of the lowest rank. */
function leastWanted(connections: Set<Connection>): { closed?: Connection; rank: number } {
  let least: { closed?: Connection; rank: number } = { rank: CLOSED.length };
  let toCheck = Math.ceil(connections.size * (1 - SPARED));
  for (const closed of connections) {
    const rank = rankOf(closed);
    if (rank < least.rank) least = { closed, rank };
    toCheck -= 1;
    if (least.rank === 0 || (toCheck <= 0 && least.rank === BUSY_STRANGER)) break;
  }
  return least;
}

/** One whose last request was authenticated is no stranger's. */
function rankOf({ current }: Connection): number {
  const isStrangers = !current || !isAuthenticated(current);
  return (isStrangers ? 0 : 2) + (isUnderWay(current) ? 1 : 0);
}
