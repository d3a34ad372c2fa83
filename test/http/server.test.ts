import { once } from "node:events";
import { Agent, type IncomingMessage, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import type { Database } from "../../src/database/database.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { PACE } from "../../src/pace.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { databaseError } from "../support/interleavings.ts";
import { basic, partnerCalls } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

let isDatabaseUnreachable = false;
/** What reading the client secrets meets before they are read; null: nothing. */
let secretsMeet: (() => Promise<void>) | null = null;
let migrationsKnown: Promise<void> = Promise.resolve();
/** What each statement fails with. */
let trouble: Error | null = null;
const wrapDatabase = (database: Database): Database => ({
  ...database,
  ping: () => (isDatabaseUnreachable ? Promise.reject(new Error("away")) : database.ping()),
  transaction: (work) => (trouble ? Promise.reject(trouble) : database.transaction(work)),
  async query(statement, ...values) {
    if (trouble) throw trouble;
    if (statement.name === "read_client_secret") await secretsMeet?.();
    if (statement.name === "finished_migrations") await migrationsKnown;
    return database.query(statement, ...values);
  },
});
const world = opened(() => aWorld({ parts: { wrapDatabase } }));
afterEach(() => void (trouble = null));

const ask = async (path: string, url = world.service.url) => {
  const response = await fetch(`${url}${path}`);
  return `${response.status} ${((await response.json()) as { status: string }).status}`;
};

// GET /healthz says whether the process is alive; GET /readyz whether it can answer provisions.

describe("GET /healthz and GET /readyz", () => {
  it("report a service as ready, and without its database as alive, and not ready until it is back", async () => {
    expect([await ask("/healthz"), await ask("/readyz")]).toEqual(["200 alive", "200 ready"]);
    isDatabaseUnreachable = true;
    expect([await ask("/healthz"), await ask("/readyz")]).toEqual(["200 alive", "503 unavailable"]);
    isDatabaseUnreachable = false;
    expect(await ask("/readyz")).toBe("200 ready");
  });

  it("report a service whose client secret is rejected as ready, because provisions work", async () => {
    const { control } = world.sandbox;
    const { secret } = control.resetClientSecret();
    await control.install();
    await eventually(async () => expect(await ask("/readyz")).toBe("200 degraded"));
    await world.restart({ environment: { CLIENT_SECRET: secret } });
    await eventually(async () => expect(await ask("/readyz")).toBe("200 ready"));
  });

  it("report a service that cannot read its client secrets as degraded, because provisions work", async () => {
    await world.restart();
    secretsMeet = () => Promise.reject(new Error("permission denied for table"));
    // The service keeps what it has read for five seconds.
    await eventually(async () => expect(await ask("/readyz")).toBe("200 degraded"));
    const { response } = await world.sandbox.control.install();
    expect(response.status).toBeLessThan(300);
    secretsMeet = null;
    expect(await ask("/readyz")).toBe("200 ready");
  });

  it("report a service that has not yet checked its database and keys as alive and not ready", async () => {
    const gate = aGate();
    migrationsKnown = gate.opened;
    // The address of the starting service is in its log; it may be that of the service before it.
    const addresses = () => [...world.logged().matchAll(/"url":"(http:[^"]+)"/g)].map(([, url]) => url!);
    const before = addresses().length;
    const restarting = world.restart();
    const url = await eventually(async () => {
      const last = addresses().slice(before).at(-1);
      if (!last) return null;
      expect(await ask("/healthz", last)).toBe("200 alive");
      expect(await ask("/readyz", last)).toBe("503 unavailable");
      return last;
    });
    gate.open();
    await restarting;
    expect(await ask("/readyz", url)).toBe("200 ready");
  });

  it("while stopping report it as alive, refuse provisions, and close each connection after its answer", async () => {
    const answers = await Promise.all(
      ["/healthz", "/readyz"].map((path) => halfAsked(world.service.url!, path)),
    );
    const stopped = world.service.stop();
    for (const { complete } of answers) complete();
    const [health, ready] = await Promise.all(answers.map(({ answer }) => answer));
    expect(health).toMatch(/}HTTP\/1\.1 200 [^]*connection: close[^]*alive/i);
    expect(ready).toMatch(/}HTTP\/1\.1 503 [^]*connection: close[^]*unavailable/i);
    await stopped;
    await world.restart();
  });
});

/** Sends a request, and another one without its end: so the connection is not idle after the first answer. */
function halfAsked(url: string, path: string): Promise<{ complete(): void; answer: Promise<string> }> {
  const socket = connect(Number(new URL(url).port), "localhost");
  let text = "";
  socket.on("data", (data: Buffer) => (text += data.toString()));
  const answer = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET ${path} HTTP/1.1\r\nHost: x\r\n`);
  return eventually(() =>
    text.includes("alive") ? { complete: () => void socket.write("\r\n"), answer } : null,
  );
}

/** Longer than any answer takes: these connections are closed by the service. */
const PATIENCE_MS = 20_000;

function bytesOf(method: string, path: string, body?: object, more = ""): string {
  const { addonId, addonPassword } = world.sandbox.settings;
  const text = body ? JSON.stringify(body) : "";
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(addonId, addonPassword)}\r\nContent-Length: ${text.length}\r\n${more}\r\n${text}`;
}

it("requests that are sent together are carried out in their order", async () => {
  const wanted = aProvisionRequest({ plan: "basic" });
  const { statuses } = await rawHttp(
    world.service.url!,
    bytesOf("POST", "/resources", wanted) +
      bytesOf("PUT", `/resources/${wanted.uuid}`, { plan: "premium" }) +
      bytesOf("DELETE", `/resources/${wanted.uuid}`) +
      bytesOf("DELETE", `/resources/${wanted.uuid}`, undefined, "Connection: close\r\n"),
    PATIENCE_MS,
  );
  expect(statuses).toEqual([200, 200, 204, 410]);
});

const nothing = "GET /nothing HTTP/1.1\r\nHost: x\r\n";
it("a provision in pieces behind thirty other requests is carried out", async () => {
  const wanted = aProvisionRequest({ plan: "basic" });
  const text = JSON.stringify(wanted);
  const pieces = [text.slice(0, 9), text.slice(9), ""].map(
    (piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`,
  );
  const head = bytesOf("POST", "/resources").replace("Content-Length: 0", "Transfer-Encoding: chunked");
  const last = head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n") + pieces.join("");
  const { statuses } = await rawHttp(world.service.url!, `${nothing}\r\n`.repeat(30) + last, PATIENCE_MS);
  expect(statuses).toEqual([...Array<number>(30).fill(404), 200]);
});

it.each([
  ["without credentials", "POST /resources HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", [401]],
  ["without a Host header", "POST /resources HTTP/1.1\r\nContent-Length: 0\r\n\r\n", [400]],
  ["that expects what does not exist", `${nothing}Expect: 200-maybe\r\n\r\n`, [417]],
  ["among more than 32", `${nothing}\r\n`.repeat(100), expect.any(Array)],
])(
  "a request behind one %s is not carried out, because the connection is closed",
  async (_, before, statuses) => {
    const wanted = aProvisionRequest({ plan: "basic" });
    const both = before + bytesOf("POST", "/resources", wanted);
    expect(await rawHttp(world.service.url!, both, PATIENCE_MS)).toMatchObject({ statuses, closed: true });
    expect(await world.rows(`SELECT 1 FROM resources WHERE uuid = $1`, [wanted.uuid])).toEqual([]);
  },
);

it("what Node would refuse out of order is refused behind the requests before it", async () => {
  const wanted = bytesOf("POST", "/resources", aProvisionRequest({ plan: "basic" }));
  for (const [last, status] of [
    ["GET / HTTP/1.1\r\n\r\n", 400],
    [`${nothing}Expect: 200-maybe\r\n\r\n`, 417],
  ] as const) {
    const { statuses, text } = await rawHttp(world.service.url!, wanted + last, PATIENCE_MS);
    expect(statuses).toEqual([200, status]);
    expect(JSON.parse(text.slice(text.lastIndexOf("\r\n\r\n")))).toMatchObject({ id: expect.any(String) });
  }
});

it.each([
  ["what is no HTTP", "hello\r\n\r\n", 400, "bad_request"],
  ["100 kB of headers", `GET / HTTP/1.1\r\nX: ${"x".repeat(100_000)}\r\n\r\n`, 431, "headers_too_large"],
])(
  "%s behind a request is refused with an id and a message, after its answer",
  async (_, bytes, status, id) => {
    const before = bytesOf("POST", "/resources", aProvisionRequest({ plan: "basic" }));
    const answer = await rawHttp(world.service.url!, before + bytes, PATIENCE_MS);
    expect(answer).toMatchObject({ statuses: [200, status], closed: true });
    expect(JSON.parse(answer.text.slice(answer.text.lastIndexOf("\r\n\r\n")))).toMatchObject({ id });
  },
);

it.each(["GET /healthz", "GET /nothing", "POST /healthz", "POST /resources"])(
  "an answer to %s carries the request's id and the headers of every answer",
  async (line) => {
    const [method, path] = line.split(" ") as [string, string];
    const asked = { method, headers: { "request-id": "the-id-of-the-request" } };
    const { headers } = await fetch(world.service.url + path, asked);
    expect(Object.fromEntries(headers)).toMatchObject({
      "request-id": "the-id-of-the-request",
      "x-content-type-options": "nosniff",
      "strict-transport-security": "max-age=31536000",
    });
  },
);

it("HOST is the only address on which it listens, where it is set", async () => {
  const other = () => fetch(world.service.url!.replace(/\/\/[\w.]+/, "//127.0.0.2") + "/healthz");
  expect((await other()).status).toBe(200);
  await world.restart({ environment: { HOST: "127.0.0.1" } });
  expect(world.service.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  expect((await fetch(`${world.service.url}/healthz`)).status).toBe(200);
  await expect(other()).rejects.toThrow();
});

it.each([
  ["of PostgreSQL", Object.assign(databaseError("23505"), { message: "duplicate key value (uuid)=(1)" })],
  ["of Prisma, which quotes our source", new Error("Invalid `prisma.create()` in /srv/app/src/rows.ts:12:3")],
  ["of our own", new TypeError("Cannot read properties of undefined (reading 'SVCK-secret-of-ours')")],
])("an error %s is answered with a request id and no internal detail", async (_, error) => {
  trouble = error;
  const platform = partnerCalls(world);
  const request = aProvisionRequest();
  for (const answer of [
    await platform.provision(request),
    await platform.changePlan(request.uuid, { plan: "premium" }),
    await platform.deprovision(request.uuid),
  ]) {
    const { status, body, headers } = answer;
    const message = "Something went wrong here. The request id finds it in the log.";
    expect([status, body]).toEqual([500, { id: "internal_error", message }]);
    expect(world.logged()).toContain(headers["request-id"] as string);
  }
  expect(world.logged()).not.toContain("secret-of-ours");
});

describe("graceful close of the HTTP server", () => {
  let server: Server;
  let close: () => Promise<void>;
  let port: number;
  let agent: Agent;
  beforeEach(async () => {
    const app = express();
    app.post("/", express.text({ type: "*/*" }), (_request, response) => void response.send("done"));
    const opened = createHttpServer(app, console, { mostConnections: 100 });
    server = opened.server;
    close = () => opened.close(PACE.lastOrdersMs);
    await once(server.listen(0, "127.0.0.1"), "listening");
    port = (server.address() as AddressInfo).port;
    agent = new Agent({ keepAlive: true });
  });
  afterEach(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });

  /** Resolves with the Connection header of the answer, or with the code of the error. */
  function ask(by = agent, connected = () => {}): Promise<string> {
    const options = { host: "127.0.0.1", port, method: "POST", agent: by };
    return new Promise((resolve) => {
      const asked = request(options, (response: IncomingMessage) => {
        response.resume().on("end", () => resolve(response.headers.connection ?? "nothing"));
      });
      asked.on("socket", (socket) => socket.once("connect", connected));
      asked.on("error", (error: NodeJS.ErrnoException) => resolve(error.code!)).end("x");
    });
  }

  const connected = (count: number) =>
    eventually(() => new Promise((resolve) => server.getConnections((_, found) => resolve(found >= count))));

  it("answers clients that have already connected", async () => {
    const asking: Promise<string>[] = [];
    const connects = () => new Promise<void>((connected) => asking.push(ask(new Agent(), connected)));
    await Promise.all(Array.from({ length: 20 }, connects));
    await close();
    expect(new Set(await Promise.all(asking))).toEqual(new Set(["close"]));
  });

  it("sends Connection: close also with the answer to an earlier request", async () => {
    const socket = connect(port, "127.0.0.1");
    let said = "";
    socket.on("data", (data: Buffer) => (said += data.toString()));
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nx");
    await connected(1);
    await sleep(100);
    const closed = close();
    socket.write("x");
    await closed;
    const whole = /^HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*done$/;
    await eventually(() => expect(said).toMatch(whole));
    socket.destroy();
  });

  it("resets no client that keeps sending requests, and accepts none afterwards", async () => {
    const askers = Array.from({ length: 16 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    expect(new Set(await Promise.all(askers.map((asker) => ask(asker))))).toEqual(new Set(["keep-alive"]));
    const asking = askers.map(async (asker) => {
      const answers: string[] = [];
      do {
        answers.push(await ask(asker));
        await sleep(Math.random() * 20);
      } while (answers.at(-1) === "keep-alive");
      return answers.at(-1);
    });
    await sleep(100);
    await close();
    expect(new Set(await Promise.all(asking))).toEqual(new Set(["close"]));
    expect(await ask()).toBe("ECONNREFUSED");
  });

  it("closes idle connections, used or not", async () => {
    expect(await ask()).toBe("keep-alive");
    const silent = connect(port, "127.0.0.1");
    const ended = once(silent, "close");
    await connected(2);
    await close();
    await eventually(() => expect(Object.values(agent.freeSockets).flat()).toHaveLength(0));
    await ended;
  });
});
