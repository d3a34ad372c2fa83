import type { Server } from "node:http";
import { type Connection, isUnderWay } from "./pipelines.ts";
import { isAuthenticated } from "./requests.ts";

/** The connection that is closed for a new one, by rank. A stranger is a caller that has not authenticated. */
const CLOSED = ["the oldest idle one", "the oldest busy one", "the oldest idle one that was authenticated"];
const BUSY_STRANGER = 1;

/** The share of the newest connections that is kept while an older one is a stranger's: their first request may follow. */
const SPARED = 1 / 8;

/**
 * The open connections of a server, the oldest first, at most `most`. More would use up the file descriptors of the process,
 * and the platform could not connect. At the limit, one is closed for each new one, but never one with an authenticated
 * request under way. `full` is called before the closing.
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

/** A connection is a stranger's unless its last request was authenticated. */
function rankOf({ current }: Connection): number {
  const isStrangers = !current || !isAuthenticated(current);
  return (isStrangers ? 0 : 2) + (isUnderWay(current) ? 1 : 0);
}
