import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

type Request = IncomingMessage & { isAccepted?: boolean };

const connections = new WeakSet<Socket>();

/** Notes that a request has right credentials: it is no stranger's, nor is its connection from now on. */
export function accept(request: Request): void {
  request.isAccepted = true;
  connections.add(request.socket);
}

/** Whether a request has right credentials. */
export function isAccepted({ isAccepted = false }: Pick<Request, "isAccepted">): boolean {
  return isAccepted;
}

/** Whether a request with right credentials ever came on a connection. */
export function hasAccepted(connection: Socket): boolean {
  return connections.has(connection);
}
