import { once } from "node:events";
import { Socket } from "node:net";
import { inspect } from "node:util";
import { Worker } from "node:worker_threads";
import { jest } from "@jest/globals";
import { mayHaveArrived } from "../../src/platform/arrival.ts";
import { createHttp } from "../../src/platform/http.ts";
import { shown, type TransportError } from "../../src/platform/http-errors.ts";
import { type Answering, aClosedPort, aRawServer, aServer } from "./local-server.ts";

const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

function anHttp(limits: Parameters<typeof createHttp>[0] = {}) {
  const http = createHttp(limits);
  closings.unshift(http.close);
  return http;
}

async function anAnswering(answer: Answering) {
  const server = await aServer(answer);
  closings.push(server.close);
  return server;
}

async function aRaw(...args: Parameters<typeof aRawServer>) {
  const server = await aRawServer(...args);
  closings.push(server.close);
  return server;
}

async function failureOf(call: Promise<unknown>): Promise<TransportError> {
  return call.then(
    () => Promise.reject(new Error("expected a failure")),
    (error: unknown) => error as TransportError,
  );
}

const part = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";

describe("an HTTP call", () => {
  it("connects to an IPv6 address without a name look-up", async () => {
    const { port } = new URL(await aClosedPort());
    const failure = await failureOf(anHttp().send({ method: "GET", url: `http://[::1]:${port}/` }));
    expect(failure).toMatchObject({ id: "connection_failed", mayHaveArrived: false });
    expect(failure.message).toContain("::1:");
    expect(failure.message).not.toContain("getaddrinfo");
  });

  it("sends what it was given, and returns status, headers and body", async () => {
    const server = await anAnswering((_seen, response) =>
      response.writeHead(418, { "x-a": "b" }).end("grüß"),
    );
    const answer = await anHttp().send({
      method: "PATCH",
      url: `${server.url}/p?q=1`,
      headers: { authorization: "Bearer t", "content-type": "application/json" },
      body: '{"ü":1}',
    });
    expect(answer).toMatchObject({ status: 418, headers: { "x-a": "b" }, body: "grüß" });
    expect(server.seen).toMatchObject([
      {
        method: "PATCH",
        url: "/p?q=1",
        body: '{"ü":1}',
        headers: { authorization: "Bearer t", "content-length": "8" },
      },
    ]);
  });

  it.each([
    ["POST", '{"ü":1}', "Content-Length: 8\r\n"],
    ["PATCH", "", "Content-Length: 0\r\n"],
    ["PUT", "a", "Content-Length: 1\r\n"],
    ["DELETE", '{"a":1}', "Content-Length: 7\r\n"],
    ["GET", '{"a":1}', "Content-Length: 7\r\n"],
    ["POST", undefined, "Content-Length: 0\r\n"],
    ["DELETE", undefined, ""],
    ["GET", undefined, ""],
  ])("sends Content-Length for any method: %s %j", async (method, body, length) => {
    let sent = "";
    const server = await aRaw((socket, _connection, received) => {
      sent += received.toString();
      if (sent.endsWith(`\r\n\r\n${body ?? ""}`)) socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    await anHttp().send({
      method,
      url: `${server.url}/p`,
      headers: { accept: "*/*" },
      ...(body !== undefined && { body }),
    });
    const [head, ...rest] = sent.split("\r\n\r\n");
    expect(rest).toEqual([body ?? ""]);
    const { host } = new URL(server.url);
    expect(`${head}\r\n`.split(/(?<=\r\n)/).sort()).toEqual(
      [
        `${method} /p HTTP/1.1\r\n`,
        "accept-encoding: identity\r\n",
        "accept: */*\r\n",
        `Host: ${host}\r\n`,
        "Connection: keep-alive\r\n",
        ...(length ? [length] : []),
      ].sort(),
    );
  });

  it("keeps the connection for the next call", async () => {
    const ports = new Set<number | undefined>();
    const server = await anAnswering((_seen, response) => {
      ports.add(response.socket?.remotePort);
      response.end();
    });
    const http = anHttp();
    const listening = jest.spyOn(Socket.prototype, "once");
    for (let call = 0; call < 20; call += 1) await http.send({ method: "GET", url: server.url });
    expect(ports.size).toBe(1);
    const left = listening.mock.calls.filter(([event]) => String(event) === "secureConnect");
    expect(left).toHaveLength(1); // one per connection, or they pile up on it call by call
    listening.mockRestore();
  });

  it("reads an answer that ends with its connection", async () => {
    const server = await aRaw((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nall of it"));
    await expect(anHttp().send({ method: "GET", url: server.url })).resolves.toMatchObject({
      body: "all of it",
    });
  });

  it("returns a 304 as an answer", async () => {
    const server = await anAnswering((_seen, response) => response.writeHead(304).end());
    await expect(anHttp().send({ method: "GET", url: server.url })).resolves.toMatchObject({ status: 304 });
  });

  it("never uses more connections than allowed", async () => {
    let open = 0;
    let most = 0;
    const server = await anAnswering((_seen, response) => {
      most = Math.max(most, (open += 1));
      setTimeout(() => response.end(() => (open -= 1)), 5);
    });
    const http = anHttp({ maxSockets: 3 });
    await Promise.all(Array.from({ length: 30 }, () => http.send({ method: "GET", url: server.url })));
    expect(most).toBe(3);
  });
});

describe("a call without a usable answer", () => {
  it.each<[string, string, boolean, (socket: Socket) => void]>([
    ["a reset", "connection_failed", true, (socket) => socket.resetAndDestroy()],
    ["a close before any byte", "connection_failed", true, (socket) => socket.end()],
    ["a truncated answer", "connection_failed", true, (socket) => socket.end(part)],
    [
      "a reset in the middle",
      "connection_failed",
      true,
      (socket) => socket.write(part, () => socket.resetAndDestroy()),
    ],
    [
      "something that is not HTTP",
      "connection_failed",
      true,
      (socket) => socket.end("220 smtp.example ESMTP\r\n"),
    ],
    [
      "another protocol",
      "connection_failed",
      true,
      (socket) => socket.end("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    ],
    ["silence", "timed_out", true, () => {}],
    ["half an answer, then silence", "timed_out", true, (socket) => socket.write(part)],
    [
      "an endless header",
      "connection_failed",
      true,
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(99_999)}`),
    ],
    [
      "more bytes than allowed",
      "answer_too_large",
      true,
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${"z".repeat(2_000)}`),
    ],
    [
      "a redirect",
      "redirect_refused",
      true,
      (socket) => socket.end("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"),
    ],
  ])("throws a typed error on %s", async (_name, id, mayHaveArrived, answer) => {
    const server = await aRaw(answer);
    const url = `${server.url}/some/path?secret=hush`;
    const timeoutMs = id === "timed_out" ? 600 : 10_000;
    const error = await failureOf(anHttp({ timeoutMs, maxBytes: 1_000 }).send({ method: "POST", url }));
    expect(error).toMatchObject({ id, mayHaveArrived });
    expect(error.message).toContain(`POST ${server.url}/some/path `);
    expect(inspect(error)).not.toContain("hush");
    expect(server.connections()).toBe(1);
  });

  it("is cut off when the answer arrives too slowly", async () => {
    const server = await anAnswering((_seen, response) => {
      const drip = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(drip));
    });
    const error = await failureOf(anHttp({ timeoutMs: 200 }).send({ method: "GET", url: server.url }));
    expect(error.id).toBe("timed_out");
  });

  it("knows that nothing arrived when the connection is refused, the host is unknown, or TLS fails", async () => {
    const server = await anAnswering((_seen, response) => response.end());
    const http = anHttp();
    for (const url of [
      await aClosedPort(),
      "http://no-such-host.invalid/",
      server.url.replace("http", "https"),
    ]) {
      const error = await failureOf(http.send({ method: "POST", url }));
      expect(error).toMatchObject({ id: "connection_failed", mayHaveArrived: false });
    }
    expect(server.seen).toHaveLength(0);
  });

  it("has an unknown outcome on a kept connection that closes before any byte, and is not repeated", async () => {
    let asked = 0;
    const server = await aRaw((socket) => {
      asked += 1;
      if (asked === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      else socket.resetAndDestroy();
    });
    const http = anHttp();
    await http.send({ method: "POST", url: server.url, body: "x" });
    expect(await failureOf(http.send({ method: "POST", url: server.url, body: "x" }))).toMatchObject({
      mayHaveArrived: true,
    });
    expect(asked).toBe(2);
  });

  it("keeps no bytes that could not be parsed", async () => {
    const server = await aRaw((socket) => socket.end("HTTP/1.1 200 OK\r\nx\0: SVCK-token\r\n\r\n"));
    const error = await failureOf(anHttp().send({ method: "GET", url: server.url }));
    expect(error.cause).toMatchObject({ code: "HPE_INVALID_HEADER_TOKEN" });
    expect(inspect(error)).not.toContain("rawPacket");
  });

  it("refuses an invalid header without showing its value", async () => {
    const call = anHttp().send({
      method: "GET",
      url: "http://127.0.0.1/",
      headers: { authorization: "Bearer a\r\nb: c" },
    });
    const error = await failureOf(call);
    expect(error).toMatchObject({ id: "connection_failed", mayHaveArrived: false });
    expect(inspect(error)).not.toContain("b: c");
  });
});

describe("closing the HTTP client", () => {
  it("waits for calls under way, and refuses later ones", async () => {
    const server = await anAnswering((_seen, response) => void setTimeout(() => response.end("done"), 100));
    const http = anHttp();
    const inFlight = http.send({ method: "POST", url: server.url });
    await http.close();
    await expect(inFlight).resolves.toMatchObject({ body: "done" });
    expect(await failureOf(http.send({ method: "GET", url: server.url }))).toMatchObject({
      mayHaveArrived: false,
    });
  });

  it("twice waits each time for the last of all calls under way, also one that fails", async () => {
    const server = await anAnswering(({ url }, response) => {
      if (url === "/broken") setTimeout(() => response.destroy(), 50);
      else setTimeout(() => response.end("done"), 150);
    });
    const http = anHttp();
    const ended: string[] = [];
    const calls = [
      failureOf(http.send({ method: "GET", url: `${server.url}/broken` })).then(() => ended.push("broken")),
      http.send({ method: "GET", url: server.url }).then(() => ended.push("done")),
    ];
    await Promise.all([http.close(), http.close()]);
    await Promise.all(calls);
    expect(ended).toEqual(["broken", "done"]);
    await http.close();
  });
});

describe("the address in an error", () => {
  it("has no user, no query, and no address inside its path", () => {
    const url = new URL(
      "https://u:p@api.example/apps/a/log-drains/https%3A%2F%2Fu%3Ahush%40logs.example?token=t",
    );
    expect(shown({ method: "GET", url })).toBe("GET https://api.example/apps/a/log-drains/…");
  });
});

describe("whether a failed request may have arrived", () => {
  it.each([
    ["ECONNREFUSED", false, false],
    ["ENOTFOUND", false, false],
    ["EAI_AGAIN", false, false],
    ["CERT_HAS_EXPIRED", false, false],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", false, false],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", false, false],
    ["ERR_TLS_CERT_ALTNAME_INVALID", false, false],
    ["EPROTO", false, false],
    ["ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", true, true],
    ["ECONNRESET", false, true],
    ["EPIPE", true, true],
    ["HPE_INVALID_CONSTANT", false, true],
    ["ETIMEDOUT", false, true],
  ])("%s, secured %s: %s", (code, isSecured, expected) => {
    expect(mayHaveArrived(Object.assign(new Error("x"), { code }), { isSecured })).toBe(expected);
  });
});

describe("a process that was suspended", () => {
  it("reads an answer that has arrived meanwhile instead of timing out", async () => {
    // In a thread of its own, because this one is suspended.
    const script = `
      const server = require("node:http").createServer((_, response) => setTimeout(() => response.end("tokens"), 100));
      server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));`;
    const server = new Worker(script, { eval: true });
    closings.push(async () => void (await server.terminate()));
    const [port] = (await once(server, "message")) as [number];
    const answer = anHttp({ timeoutMs: 1_000 }).send({ method: "POST", url: `http://127.0.0.1:${port}/` });
    await new Promise((resolve) => setTimeout(resolve, 50));
    // In the phase of the event loop after which timers run before sockets.
    await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + 1_500;
    while (performance.now() < until);
    expect(await answer).toMatchObject({ status: 200, body: "tokens" });
  });
});
