import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/** Below the ports that systems assign on their own (Linux from 32768 on, others from 49152 on). */
const FIRST = 10_240;
const LAST = 32_000;
const TRIES = 100;

/**
 * A port that nobody listens on, for a process that will be started later. A port assigned by the system could be
 * assigned again before then, for example to a connection of this process. No other call of this function, in any process,
 * returns the port while this process runs: its UDP number is taken as a mark.
 */
export async function freePort(first = FIRST, last = LAST): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(first, last);
    if ((await canMark(port)) && (await isFree(port))) return port;
  }
  throw new Error(`No free port was found between ${first} and ${last}.`);
}

function canMark(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const mark = createSocket("udp4").unref();
    // Where no mark can be made at all, the port is taken without one.
    mark.once("error", ({ code }: NodeJS.ErrnoException) => mark.close(() => resolve(code !== "EADDRINUSE")));
    mark.bind({ port, address: "127.0.0.1", exclusive: true }, () => resolve(true));
  });
}

/** Whether nobody listens on this port of this machine. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
