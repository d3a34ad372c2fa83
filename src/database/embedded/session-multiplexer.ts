import type { Socket } from "node:net";
import type { PGlite } from "@electric-sql/pglite";
import { readExchanges } from "./exchanges.ts";

type Needs = {
  pglite: Pick<PGlite, "execProtocol" | "isInTransaction">;
  /** PGlite itself failed; all clients have been cut off. */
  onCrash?(error: unknown): void;
  /** How long a client may stay silent inside a transaction before it is cut off, in ms. */
  silenceMs?: number;
};

type SessionMultiplexer = {
  /** Serves one more client. */
  welcome(socket: Socket): void;
  /** Cuts all clients off. PGlite may be closed after this. */
  stop(): void;
};

type Turn = { socket: Socket; bytes: Buffer };

const ROLLBACK = Buffer.from("Q\0\0\0\rROLLBACK\0", "latin1");

/**
 * Lets many clients share PGlite, which is one PostgreSQL session: they take turns, and a turn is a whole exchange or,
 * once a client has begun a transaction, the whole transaction.
 *
 * Why not `@electric-sql/pglite-socket`, which is made for this: it passes messages on one by one. As soon as a
 * client's exchange arrives in two pieces (from 64 kB on), another client's Parse gets between its Parse and its Bind,
 * and its values go into the other's statement; a client that dies after a failed Parse leaves the session deaf to all
 * others; and one that stops inside a transaction (Ctrl-Z) holds up the rest for ever. Whole exchanges make the first
 * two impossible, and take a third of the time.
 *
 * Because there is only one session: no named statements, no session settings, no LISTEN, no advisory locks across
 * clients.
 */
export function createSessionMultiplexer({ pglite, onCrash, silenceMs = 5000 }: Needs): SessionMultiplexer {
  const sockets = new Set<Socket>();
  let turns: Turn[] = [];
  /** The client whose transaction is open. */
  let holder: Socket | undefined;
  let silence: NodeJS.Timeout | undefined;
  let isBusy = false;
  let hasStopped = false;

  function welcome(socket: Socket): void {
    if (socket.destroyed) return;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => leave(socket));
    readExchanges(socket, (bytes) => {
      turns.push({ socket, bytes });
      void takeTurns();
    });
  }

  function leave(socket: Socket): void {
    sockets.delete(socket);
    turns = turns.filter((turn) => turn.socket !== socket);
    if (holder === socket) turns.push({ socket, bytes: ROLLBACK });
    void takeTurns();
  }

  function stop(): void {
    hasStopped = true;
    clearTimeout(silence);
    for (const socket of sockets) socket.destroy();
  }

  function nextTurn(): Turn | undefined {
    const at = holder ? turns.findIndex(({ socket }) => socket === holder) : 0;
    return at < 0 || hasStopped ? undefined : turns.splice(at, 1)[0];
  }

  async function takeTurns(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    try {
      for (let turn = nextTurn(); turn; turn = nextTurn()) await take(turn);
    } catch (error) {
      stop();
      onCrash?.(error);
    } finally {
      isBusy = false;
    }
  }

  async function take({ socket, bytes }: Turn): Promise<void> {
    clearTimeout(silence);
    // `execProtocolRaw` keeps every message of every answer until another method is called, which never happens here.
    const { data: answer } = await pglite.execProtocol(bytes, { throwOnError: false });
    holder = pglite.isInTransaction() ? socket : undefined;
    if (holder) silence = setTimeout(() => socket.destroy(), silenceMs).unref();
    if (socket.writable) socket.write(answer);
    // Each turn blocks the process while PostgreSQL works: other work runs in between.
    await new Promise(setImmediate);
  }

  return { welcome, stop };
}
