import { once } from "node:events";
import http, { type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { createLog } from "../../src/logging/log.ts";
import { requestLog } from "../../src/logging/request-log.ts";
import { createScrubber } from "../../src/secret.ts";
import { eventually } from "../support/world.ts";

const lines: string[] = [];
const log = createLog("info", createScrubber(""), { write: (line) => void lines.push(line) });
const logRequest = requestLog(log);
let respond: (response: ServerResponse) => void;
const server = http.createServer((request, response) => {
  logRequest(request, response);
  respond(response);
});
beforeAll(() => once(server.listen(0), "listening"));
afterAll(() => void server.close());

/** Sends a request, and disconnects while the service handles it, or after a part of the answer. */
async function askAndGo(): Promise<void> {
  const socket = connect((server.address() as AddressInfo).port, "localhost");
  socket.write("POST /resources?code=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  await once(server, "request");
  socket.destroy();
}

const lineOf = () => eventually(() => (lines.length > 0 ? (JSON.parse(lines.pop()!) as object) : null));

it("a request whose caller leaves before the answer is logged as not answered", async () => {
  respond = () => undefined;
  await askAndGo();
  expect(await lineOf()).toMatchObject({
    ...{ level: "warn", msg: "POST was not answered: the caller went away" },
    ...{ req: { method: "POST", path: "/resources" }, res: { status: null }, ms: expect.any(Number) },
  });
});

it("an answered request is logged with its status, also if the caller reads only a part", async () => {
  respond = (response) => void response.writeHead(202).end();
  await askAndGo();
  expect(await lineOf()).toMatchObject({ level: "info", msg: "POST answered 202", res: { status: 202 } });
  respond = (response) => void response.writeHead(200).write("x".repeat(10_000_000));
  await askAndGo();
  expect(await lineOf()).toMatchObject({ level: "info", msg: "POST answered 200", res: { status: 200 } });
});
