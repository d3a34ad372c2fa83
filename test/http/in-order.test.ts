import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { inOrder } from "../../src/http/in-order.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { basic } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// What one connection sends: its order, garbage, and answers that nobody reads.

const world = opened(() => aWorld());

/** Longer than any answer takes: these connections are closed by the service. */
const PATIENCE_MS = 20_000;

function request(method: string, path: string, body?: object, more = ""): string {
  const { addonId, addonPassword } = world.sandbox.settings;
  const text = body ? JSON.stringify(body) : "";
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(addonId, addonPassword)}\r\nContent-Length: ${text.length}\r\n${more}\r\n${text}`;
}
const lastBody = (text: string) => JSON.parse(text.slice(text.lastIndexOf("\r\n\r\n"))) as unknown;

it("requests that are sent together are carried out in their order", async () => {
  const wanted = aProvisionRequest({ plan: "basic" });
  const { statuses } = await rawHttp(
    world.service.url!,
    request("POST", "/resources", wanted) +
      request("PUT", `/resources/${wanted.uuid}`, { plan: "premium" }) +
      request("DELETE", `/resources/${wanted.uuid}`) +
      request("DELETE", `/resources/${wanted.uuid}`, undefined, "Connection: close\r\n"),
    PATIENCE_MS,
  );
  expect(statuses).toEqual([200, 200, 204, 410]);
});

it("a valid request is answered before the garbage behind it, and what is refused says why", async () => {
  const wanted = aProvisionRequest({ plan: "basic" });
  const { statuses, text, closed } = await rawHttp(
    world.service.url!,
    `${request("POST", "/resources", wanted)}garbage\r\n\r\n`,
    PATIENCE_MS,
  );
  expect({ statuses, closed }).toEqual({ statuses: [200, 400], closed: true });
  expect(lastBody(text)).toEqual({ id: "bad_request", message: "The request is not well formed." });
});

it.each([
  ["no HTTP", "hello\r\n\r\n", 400, "bad_request"],
  ["100 kB of headers", `GET / HTTP/1.1\r\nX: ${"x".repeat(100_000)}\r\n\r\n`, 431, "headers_too_large"],
])("%s is refused with an id and a message", async (_, bytes, status, id) => {
  const { statuses, text } = await rawHttp(world.service.url!, bytes);
  expect(statuses).toEqual([status]);
  expect(lastBody(text)).toMatchObject({ id });
});

it("HEAD is answered like GET", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    const { status, headers } = await fetch(world.service.url! + path, { method: "HEAD" });
    const type = headers.get("content-type");
    expect([path, status, type]).toEqual([path, 200, "application/json; charset=utf-8"]);
  }
});

it("a client that sends requests without end and reads nothing is cut off", async () => {
  const { hostname, port } = new URL(world.service.url!);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  let isCut = false;
  socket.on("error", () => undefined).on("close", () => (isCut = true));
  const many = request("GET", "/healthz").repeat(1_000);
  await eventually(async () => {
    if (!isCut) socket.write(many);
    await sleep(5);
    return isCut;
  });
  expect((await fetch(`${world.service.url}/healthz`)).status).toBe(200);
});

it("a thousand requests may wait in all, and those of a connection that ended no longer count", async () => {
  let came = 0;
  const server = createServer(inOrder(() => undefined)).on("request", () => (came += 1));
  await once(server.listen(0), "listening");
  const { port } = server.address() as AddressInfo;
  const sends = (requests: number) => {
    const socket = connect(port)
      .on("error", () => undefined)
      .resume();
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(requests));
    return socket;
  };
  const holding = Array.from({ length: 50 }, () => sends(21));
  await eventually(() => came === 50 * 21);
  await once(sends(2), "close");
  holding.pop()!.destroy();
  await eventually(async () => {
    const socket = sends(21);
    await Promise.race([once(socket, "close"), sleep(100)]);
    return !socket.destroyed;
  });
  server.closeAllConnections();
  await once(server.close(), "close");
});

it.each(["GET /healthz", "GET /nothing", "POST /healthz", "POST /resources"])(
  "an answer to %s carries the request's id and the headers of every answer",
  async (line) => {
    const [method, path] = line.split(" ");
    const asked = { method: method!, headers: { "request-id": "the-id-of-the-request" } };
    const { headers } = await fetch(`${world.service.url}${path}`, asked);
    expect(Object.fromEntries(headers)).toMatchObject({
      "request-id": "the-id-of-the-request",
      "x-content-type-options": "nosniff",
      "strict-transport-security": "max-age=31536000",
    });
  },
);

it("an answer to a request that no code of ours has seen carries none", async () => {
  for (const lines of [
    "GET / HTTP/1.1",
    "GET / HTTP/1.1\r\nHost: here\r\nExpect: nothing",
    "GET http://[ HTTP/1.1\r\nHost: here",
  ]) {
    const { statuses, text } = await rawHttp(world.service.url!, `${lines}\r\nConnection: close\r\n\r\n`);
    expect(statuses[0]).toBeGreaterThanOrEqual(400);
    expect(text.toLowerCase()).not.toContain("request-id");
  }
});

it("HOST is the only address on which it listens, where it is set", async () => {
  const other = () => fetch(world.service.url!.replace(/\/\/[\w.]+/, "//127.0.0.2") + "/healthz");
  expect((await other()).status).toBe(200);
  await world.restart({ environment: { HOST: "127.0.0.1" } });
  expect(world.service.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  expect((await fetch(`${world.service.url}/healthz`)).status).toBe(200);
  await expect(other()).rejects.toThrow();
});
