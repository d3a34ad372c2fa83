import { once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import express from "express";
import { createHttpServer } from "../../src/http/server.ts";
import { aGate } from "../support/a-vendor.ts";
import { rawHttp } from "../support/raw-http.ts";
import { eventually } from "../support/world.ts";

// Requests that a client sends ahead of the answers: how many, and what becomes of other callers meanwhile.

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const QUIET_MS = 20_000;

let server: Server;
let url: string;
/** The paths of the requests that were begun, in their order. */
let begun: string[];
/** How many requests the parser has delivered. */
let delivered: number;
let warnings: { about: object; sentence: string }[];
/** Opened, it answers `GET /held`. */
let gate: ReturnType<typeof aGate>;
/** Of the last `GET /held`. */
let held: ServerResponse;
let sockets: Socket[];

async function listen(limits: object = {}): Promise<void> {
  const app = express();
  app.use(({ path }, _response, next) => {
    begun.push(path);
    next();
  });
  app.get("/held", (_request, response) => {
    held = response;
    void gate.opened.then(() => response.send("held"));
  });
  app.get("/large", (_request, response) => void response.send("x".repeat(1_000_000)));
  const log = { warn: (about: object, sentence: string) => void warnings.push({ about, sentence }) };
  ({ server } = createHttpServer(app, { ...log, error: log.warn } as never, {
    mostConnections: 100,
    ...limits,
  }));
  server.prependListener("request", () => (delivered += 1));
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A client that has sent these bytes; it reads its answers unless `isDeaf`. */
function aClient(bytes: string, { isDeaf = false } = {}): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined);
  if (!isDeaf) socket.resume();
  socket.write(bytes);
  sockets.push(socket);
  return socket;
}

/** Also after an error, as when the service closes a connection that has sent more. */
const closeOf = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

beforeEach(() => {
  [begun, delivered, warnings, sockets, gate] = [[], 0, [], [], aGate()];
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

it("32 requests that are sent together are all answered, in their order", async () => {
  await listen();
  const paths = ["/held", ...Array.from({ length: 31 }, (_, number) => `/${number}`)];
  const answers = rawHttp(url, paths.map(get).join(""), 500);
  await eventually(() => delivered === 32);
  expect(begun).toEqual(["/held"]);
  gate.open();
  expect((await answers).statuses).toEqual([200, ...paths.slice(1).map(() => 404)]);
  expect(begun).toEqual(paths);
  expect(warnings).toEqual([]);
});

it.each([
  ["at once", 2_000],
  ["in several reads", 20_000],
])(
  "a connection that sends thousands of requests %s is closed, and only what was under way was begun",
  async (_, count) => {
    await listen();
    await closeOf(aClient(get("/held") + get("/x").repeat(count)));
    expect(begun).toEqual(["/held"]);
    // The parser has stopped.
    expect(delivered).toBe(33);
    const sentence = expect.stringContaining("more than 32 on one connection; its connection was closed");
    expect(warnings).toEqual([{ about: { address: "127.0.0.1" }, sentence }]);
    expect((await rawHttp(url, get("/other"), 500)).statuses).toEqual([404]);
  },
);

it("of all callers together a limited number of requests wait; places become free again", async () => {
  await listen({ mostWaiting: 40 });
  const some = get("/held") + get("/x").repeat(20);
  const first = aClient(some);
  aClient(some);
  await eventually(() => delivered === 42);
  await closeOf(aClient(some));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]!.sentence).toContain("more than 40 on all connections");
  // A connection that ends takes its requests with it.
  await closeOf(first.destroy());
  await eventually(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count === 1))));
  aClient(some);
  await eventually(() => delivered === 42 + 2 + 21);
  await closeOf(aClient(get("/held") + get("/x")));
  gate.open();
  await eventually(() => expect(begun.filter((path) => path === "/x")).toHaveLength(40));
  const answers = await rawHttp(url, get("/x").repeat(30), 500);
  expect([answers.statuses.length, warnings.length]).toEqual([30, 2]);
});

it("waiting requests of many callers delay no other caller", async () => {
  await listen();
  // The first call of a process is slow by itself.
  await (await fetch(`${url}/other`)).text();
  [begun, delivered] = [[], 0];
  for (let client = 0; client < 16; client++) aClient(get("/held") + get("/x").repeat(31));
  await eventually(() => delivered === 16 * 32);
  gate.open();
  for (let call = 0; call < 10; call++) await fetch(`${url}/other`);
  // Between two of another caller's requests, far less than the 496 that wait were begun.
  const between = begun
    .join(" ")
    .split("/other")
    .map((paths) => paths.split("/x").length - 1);
  expect(between).toHaveLength(11);
  expect(Math.max(...between)).toBeLessThan(100);
  await eventually(() => expect(begun.filter((path) => path === "/x")).toHaveLength(496));
});

it("of a client that reads no answer no more requests are begun than its connection takes answers of", async () => {
  await listen();
  const large = `GET /large HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(14_000)}\r\n\r\n`;
  aClient(large.repeat(1_500), { isDeaf: true });
  const begunOfIt = () => begun.filter((path) => path === "/large").length;
  await eventually(async () => {
    const before = begunOfIt();
    expect(before).toBeGreaterThan(0);
    for (let call = 0; call < 30; call++) await fetch(`${url}/other`);
    expect(begunOfIt()).toBe(before);
  });
  // The kernel takes some megabytes.
  expect(begunOfIt()).toBeLessThan(50);
  expect(delivered - begun.length).toBeLessThan(33);
});

it("a caller that goes away leaves its waiting requests undone", async () => {
  await listen();
  const caller = aClient(get("/held") + get("/x").repeat(10));
  await eventually(() => delivered === 11);
  await closeOf(caller.end());
  gate.open();
  await fetch(`${url}/other`);
  expect(begun).toEqual(["/held", "/other"]);
});

it("what is no HTTP, in many pieces behind a request, is refused once", async () => {
  await listen();
  let pieces = 0;
  server.prependListener("clientError", () => (pieces += 1));
  const answer = rawHttp(url, get("/held") + "\0".repeat(5_000_000), QUIET_MS);
  await eventually(() => pieces > 20);
  expect(held.listenerCount("close")).toBeLessThan(10);
  gate.open();
  expect((await answer).statuses).toEqual([200, 400]);
});
