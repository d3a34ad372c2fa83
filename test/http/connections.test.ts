import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import express from "express";
import { createHttpServer } from "../../src/http/server.ts";
import { eventually } from "../support/world.ts";

// A server has a limited number of connections: which one it closes for a new one.

/** What a client has done: a stranger's or an authenticated request that is answered, or under way; nothing at all. */
type Client = "silent" | "stranger" | "stranger's busy" | "known" | "known busy";

const MOST = 8;

let server: Server;
let alarms: { about: object; sentence: string }[];
let open: Set<Socket>;
let received: number;
beforeEach(async () => {
  [alarms, open, received] = [[], new Set(), 0];
  const app = express();
  app.use((request, response) => {
    received += 1;
    if (request.headers.authorization) response.locals["isAuthenticated"] = true;
    if (request.path !== "/busy") response.send("done");
  });
  const log = { error: (about: object, sentence: string) => void alarms.push({ about, sentence }) };
  ({ server } = createHttpServer(app, { ...log, warn: log.error } as never, { mostConnections: MOST }));
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(() => {
  for (const socket of open) socket.destroy();
  server.close();
});

async function comes(client: Client): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined).once("close", () => open.delete(socket));
  const accepted = once(server, "connection");
  await once(socket, "connect");
  await accepted;
  open.add(socket);
  if (client === "silent") return socket;
  const login = client.startsWith("known") ? "Authorization: x\r\n" : "";
  const before = received;
  socket.write(`GET /${client.endsWith("busy") ? "busy" : ""} HTTP/1.1\r\nHost: x\r\n${login}\r\n`);
  if (client.endsWith("busy")) await eventually(() => received > before);
  else await once(socket, "data");
  return socket;
}

const some = (client: Client, count: number) => Array<Client>(count).fill(client);

it.each<[string, Client[], closed: number, what: string]>([
  ["the oldest of silent ones", some("silent", 8), 0, "the oldest idle one"],
  [
    "a stranger's idle one, not authenticated ones",
    [...some("known", 5), "stranger", ...some("known", 2)],
    5,
    "the oldest idle one",
  ],
  [
    "a stranger's idle one, not busy ones",
    [...some("stranger's busy", 4), "silent", ...some("known busy", 3)],
    4,
    "the oldest idle one",
  ],
  [
    "a stranger's busy one, not the newest",
    [...some("known", 3), ...some("stranger's busy", 4), "silent"],
    3,
    "the oldest busy one",
  ],
  ["the only stranger's, though it is the newest", [...some("known", 7), "silent"], 7, "the oldest idle one"],
  [
    "the oldest authenticated one that is idle",
    [...some("known busy", 3), ...some("known", 5)],
    3,
    "the oldest idle one that was authenticated",
  ],
  ["the new one, if all are authenticated and busy", some("known busy", 8), 8, "the new one"],
])("for a new connection beyond the limit is closed: %s", async (_, clients, closed, what) => {
  const sockets: Socket[] = [];
  for (const client of clients) sockets.push(await comes(client));
  expect(alarms).toEqual([]);
  sockets.push(await comes("silent"));
  await eventually(() => expect(open.size).toBe(MOST));
  expect(sockets.map((socket) => open.has(socket)).indexOf(false)).toBe(closed);
  const sentence = `All 8 connections that this process accepts are open; ${what} was closed`;
  expect(alarms).toEqual([{ about: { alarm: "too_many_connections", address: "127.0.0.1" }, sentence }]);
});

it("connections that have ended leave their places to others", async () => {
  for (let client = 0; client < 3 * MOST; client++) {
    const socket = await comes("stranger");
    socket.destroy();
    await eventually(
      () => new Promise((resolve) => server.getConnections((_, count) => resolve(count === 0))),
    );
  }
  expect(alarms).toEqual([]);
});
