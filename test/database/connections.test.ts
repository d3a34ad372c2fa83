import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import type pg from "pg";
import { createConnections } from "../../src/database/connections.ts";

/** Connections of a pool that lets nobody in, and what they logged. */
function refused() {
  const told: string[] = [];
  const tell = (_about: unknown, message: string) => void told.push(message);
  const pool = Object.assign(new EventEmitter(), {
    idleCount: 0,
    waitingCount: 0,
    options: { max: 1 },
    connect: () =>
      Promise.reject(
        Object.assign(new Error("no entry"), {
          code: "28000",
          severity: "FATAL",
          length: 1,
          routine: "auth",
        }),
      ),
  });
  const connections = createConnections(pool as unknown as pg.Pool, undefined, {
    info: tell,
    warn: tell,
    error: tell,
  } as never);
  return {
    told,
    takeInVain: () => expect(connections.take()).rejects.toThrow("no entry"),
    /** A login that began earlier succeeds. */
    connected: () => pool.emit("connect"),
  };
}

it("a refused connection is logged once, also if a login that had begun before succeeds in between", async () => {
  const { told, takeInVain, connected } = refused();
  await takeInVain();
  expect(told).toEqual([]); // start-up reports it
  await sleep(1_100);
  connected();
  for (let time = 0; time < 3; time += 1) {
    await takeInVain();
    connected();
  }
  expect(told).toEqual([expect.stringContaining("refuses new connections")]);
});

it("a refused connection is logged again when connections had succeeded for a while", async () => {
  const { told, takeInVain, connected } = refused();
  connected();
  await takeInVain();
  await sleep(1_100);
  await takeInVain(); // the same outage: nobody was let in
  expect(told).toHaveLength(1);
  connected();
  await sleep(1_100);
  await takeInVain();
  expect(told).toHaveLength(2);
});
