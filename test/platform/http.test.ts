import { once } from "node:events";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { inspect } from "node:util";
import { Worker } from "node:worker_threads";
import { jest } from "@jest/globals";
import { shown, type TransportError } from "../../src/platform/call.ts";
import { aClosedPort, anHttp, aRawServer, aServer, toClose } from "./local-server.ts";

async function failureOf(call: Promise<unknown>): Promise<TransportError> {
  return call.then(
    () => Promise.reject(new Error("expected a failure")),
    (error: unknown) => error as TransportError,
  );
}

describe("an HTTP call", () => {
  it.each([
    ["DELETE", '{"ü":1}', "Content-Length: 8\r\n"],
    ["POST", undefined, "Content-Length: 0\r\n"],
    ["GET", undefined, ""],
  ])("sends Content-Length for any method: %s %j", async (method, body, length) => {
    let sent = "";
    const server = await aRawServer((socket, received) => {
      sent += received.toString();
      if (sent.endsWith(`\r\n\r\n${body ?? ""}`)) socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    await anHttp().send({ method, url: `${server.url}/p`, ...(body !== undefined && { body }) });
    const [head, ...rest] = sent.split("\r\n\r\n");
    expect(rest).toEqual([body ?? ""]);
    const { host } = new URL(server.url);
    const standard = ["accept-encoding: identity\r\n", `Host: ${host}\r\n`, "Connection: keep-alive\r\n"];
    expect(`${head}\r\n`.split(/(?<=\r\n)/).sort()).toEqual(
      [`${method} /p HTTP/1.1\r\n`, ...standard, ...(length ? [length] : [])].sort(),
    );
  });

  it("keeps its connections for later calls, and never opens more than allowed", async () => {
    const ports = new Set<number | undefined>();
    const server = await aServer((_seen, response) => {
      ports.add(response.socket?.remotePort);
      setTimeout(() => response.end(), 5);
    });
    const http = anHttp({ maxSockets: 3 });
    await Promise.all(Array.from({ length: 30 }, () => http.send({ method: "GET", url: server.url })));
    expect(ports.size).toBe(3);
  });
});

const ok = "HTTP/1.1 200 OK\r\n";
const upgrade = "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
const part = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
const redirect = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";

describe("a call without a usable answer", () => {
  it.each<[string, string, (socket: Socket) => unknown]>([
    ["a reset", "connection_failed", (socket) => socket.resetAndDestroy()],
    ["a close before any byte", "connection_failed", (socket) => socket.end()],
    ["a truncated answer", "connection_failed", (socket) => socket.end(part)],
    ["a reset in the middle", "connection_failed", (it) => it.write(part, () => it.resetAndDestroy())],
    ["something that is not HTTP", "connection_failed", (socket) => socket.end("220 smtp.example ESMTP\r\n")],
    ["silence", "timed_out", () => {}],
    ["half an answer, then silence", "timed_out", (socket) => socket.write(part)],
    ["drips", "timed_out", (socket) => setInterval(() => socket.write(`${ok}x: y`), 20).unref()],
    ["an endless header", "connection_failed", (socket) => socket.write(`${ok}x: ${"y".repeat(99_999)}`)],
    ["more bytes than allowed", "answer_too_large", (it) => it.write(`${ok}\r\n${"z".repeat(2_000)}`)],
    ["another protocol", "connection_failed", (socket) => socket.end(upgrade)],
    ["a redirect", "redirect_refused", (socket) => socket.end(redirect)],
  ])("throws a typed error on %s, may have arrived, and is not repeated", async (_name, id, answer) => {
    const server = await aRawServer(answer);
    const url = `${server.url}/some/path?secret=hush`;
    const timeoutMs = id === "timed_out" ? 1_500 : 60_000;
    const error = await failureOf(anHttp({ timeoutMs, maxBytes: 1_000 }).send({ method: "POST", url }));
    expect(error).toMatchObject({ id, mayHaveArrived: true });
    expect(error.message).toContain(`POST ${server.url}/some/path `);
    expect(inspect(error)).not.toContain("hush");
    expect(server.connections()).toBe(1);
  });

  it("may have arrived on a kept connection that closes before any byte, also when it had waited for that", async () => {
    let asked = 0;
    const server = await aRawServer((socket) => {
      asked += 1;
      if (asked === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      else socket.resetAndDestroy();
    });
    const http = anHttp({ maxSockets: 1 });
    const call = { method: "POST", url: server.url, body: "x" };
    const [, second] = await Promise.all([http.send(call), failureOf(http.send(call))]);
    expect(second).toMatchObject({ mayHaveArrived: true });
    expect([asked, server.connections()]).toEqual([2, 1]);
  });

  it("did not arrive when the connection is refused, the host is unknown, or TLS fails", async () => {
    const server = await aServer((_seen, response) => response.end());
    const { port } = new URL(await aClosedPort());
    const urls = [
      `http://127.0.0.1:${port}/`,
      `http://[::1]:${port}/`, // not looked up as a name
      "http://no-such-host.invalid/",
      "http://255.255.255.255/", // fails before it begins to connect, as without a free file descriptor
      server.url.replace("http", "https"),
      await aTlsServer(),
    ];
    for (const url of urls) {
      const error = await failureOf(anHttp().send({ method: "POST", url }));
      expect(error).toMatchObject({ id: "connection_failed", mayHaveArrived: false });
    }
    expect(server.seen).toHaveLength(0);
  });

  it("did not arrive when there is no answer in time because the connection never opens", async () => {
    const { url: silent } = await aRawServer(() => undefined);
    const url = silent.replace("http", "https");
    const error = await failureOf(anHttp({ timeoutMs: 200 }).send({ method: "POST", url }));
    expect(error).toMatchObject({ id: "timed_out", mayHaveArrived: false });
  });

  it("may have arrived over https once the certificate was accepted", async () => {
    const { request } = https;
    const trusting = (options: https.RequestOptions) => request({ ...options, ca: CERTIFICATE });
    const asked = jest.spyOn(https, "request").mockImplementation(trusting as typeof request);
    const error = await failureOf(anHttp().send({ method: "POST", url: await aTlsServer() }));
    asked.mockRestore();
    expect(error).toMatchObject({ id: "connection_failed", mayHaveArrived: true });
  });

  it("keeps no bytes that could not be parsed", async () => {
    const server = await aRawServer((socket) => socket.end("HTTP/1.1 200 OK\r\nx\0: SVCK-token\r\n\r\n"));
    const error = await failureOf(anHttp().send({ method: "GET", url: server.url }));
    expect(error.cause).toMatchObject({ code: "HPE_INVALID_HEADER_TOKEN" });
    expect(inspect(error)).not.toContain("rawPacket");
  });

  it("refuses an invalid header without showing its value", async () => {
    const headers = { authorization: "Bearer a\r\nb: c" };
    const error = await failureOf(anHttp().send({ method: "GET", url: "http://127.0.0.1/", headers }));
    expect(error).toMatchObject({ id: "connection_failed", mayHaveArrived: false });
    expect(inspect(error)).not.toContain("b: c");
  });
});

it("closing the HTTP client waits for all calls in flight, also for one that fails, and refuses new ones", async () => {
  const server = await aServer(({ url }, response) => {
    if (url === "/broken") setTimeout(() => response.destroy(), 50);
    else setTimeout(() => response.end("done"), 150);
  });
  const http = anHttp();
  const ended: string[] = [];
  const calls = [
    failureOf(http.send({ method: "GET", url: `${server.url}/broken` })).then(() => ended.push("broken")),
    http.send({ method: "GET", url: server.url }).then(({ body }) => ended.push(body)),
  ];
  const closing = Promise.all([http.close(), http.close()]);
  const late = () => failureOf(http.send({ method: "POST", url: server.url }));
  expect(await late()).toMatchObject({ mayHaveArrived: false });
  await closing;
  expect(await late()).toMatchObject({ mayHaveArrived: false });
  await Promise.all(calls);
  expect(ended).toEqual(["broken", "done"]);
  expect(server.seen).toHaveLength(2);
});

it("the address in an error has no user, no query, and no address inside its path", () => {
  const url = new URL(
    "https://u:p@api.example/apps/a/log-drains/https%3A%2F%2Fu%3Ahush%40logs.example?token=t",
  );
  expect(shown({ method: "GET", url })).toBe("GET https://api.example/apps/a/log-drains/…");
});

it("a process that was suspended reads an answer that has arrived instead of timing out", async () => {
  // In a thread of its own, because this one is suspended.
  const script = `
    const server = require("node:http").createServer((_, response) => setTimeout(() => response.end("tokens"), 100));
    server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));`;
  const server = new Worker(script, { eval: true });
  toClose.push(() => server.terminate());
  const [port] = (await once(server, "message")) as [number];
  const answer = anHttp({ timeoutMs: 3_000 }).send({ method: "POST", url: `http://127.0.0.1:${port}/` });
  await new Promise((resolve) => setTimeout(resolve, 50));
  // In the phase of the event loop after which timers run before sockets.
  await new Promise((resolve) => setImmediate(resolve));
  const until = performance.now() + 3_500;
  while (performance.now() < until);
  expect(await answer).toMatchObject({ status: 200, body: "tokens" });
});

/** A server with a certificate of its own, which resets every connection after a request. */
async function aTlsServer(): Promise<string> {
  const server = https.createServer({ cert: CERTIFICATE, key: KEY }, ({ socket }) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  toClose.push(() => server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Of 127.0.0.1, signed by itself, and its key: of these tests alone. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBKzCB0qADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
dDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDESMBAGA1UEAwwJ
bG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwGxro1GzmE1eDFRY
t4ut9Ijrd3r0pW05WloJvNFh3FgVZObYzOG+wS/EgrCUl1sQL+n672JYCF42qvA1
AefmXqMTMBEwDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNIADBFAiAOtDx2
0lGecU/nKmTC+ugHSXiKaqsvQzQqs9PD1NlrsAIhAPAvZZsB+GiBe0Sapd1fjpTs
HntJHbjsTVY+uO3MkKL+
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjj6PE+vHZp7RvRs4
nh7z4zmUSDTYFWwUf7toPncuw/GhRANCAATAbGujUbOYTV4MVFi3i630iOt3evSl
bTlaWgm80WHcWBVk5tjM4b7BL8SCsJSXWxAv6frvYlgIXjaq8DUB5+Ze
-----END PRIVATE KEY-----`;
