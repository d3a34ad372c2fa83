import { once } from "node:events";
import { Agent, request, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { PACE } from "../../src/pace.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { eventually } from "../support/world.ts";

let server: Server;
let close: () => Promise<void>;
let port: number;
let agent: Agent;
beforeEach(async () => {
  const app = express();
  app.post("/", express.text({ type: "*/*" }), (_request, response) => void response.send("done"));
  const opened = createHttpServer(app);
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

/** The head of a request whose body is sent slowly. */
async function begin(): Promise<{ socket: Socket; said(): string }> {
  const socket = connect(port, "127.0.0.1");
  let said = "";
  socket.on("data", (data: Buffer) => (said += data.toString()));
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nx");
  await eventually(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count > 0))));
  await sleep(100);
  return { socket, said: () => said };
}

describe("graceful close of the HTTP server", () => {
  it("answers a request on an open connection with Connection: close, and accepts no further one", async () => {
    expect(await ask()).toBe("keep-alive");
    const closed = close();
    expect(await ask()).toBe("close");
    expect(await ask()).toBe("ECONNREFUSED");
    await closed;
  });

  it("answers clients that have already connected", async () => {
    const asking: Promise<string>[] = [];
    await Promise.all(
      Array.from(
        { length: 20 },
        () => new Promise<void>((connected) => asking.push(ask(new Agent(), connected))),
      ),
    );
    await close();
    expect(new Set(await Promise.all(asking))).toEqual(new Set(["close"]));
  });

  it("sends Connection: close also with the answer to an earlier request", async () => {
    const { socket, said } = await begin();
    const closed = close();
    socket.write("x");
    await closed;
    await eventually(() =>
      expect(said()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n[^]*done$/),
    );
    socket.destroy();
  });

  it("resets no client that keeps sending requests", async () => {
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
  });

  it("closes idle connections, used or not", async () => {
    expect(await ask()).toBe("keep-alive");
    const silent = connect(port, "127.0.0.1");
    const ended = once(silent, "close");
    await eventually(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count > 1))));
    await close();
    await eventually(() => expect(Object.values(agent.freeSockets).flat()).toHaveLength(0));
    await ended;
  });
});
