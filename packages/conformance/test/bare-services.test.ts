// OpenContext with faults that the example cannot have: in connections, and in JSON.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { expect, it } from "@jest/globals";
import { judge } from "../judge.ts";
import type { Rule, Verdict } from "../rule.ts";
import { rules } from "../rules/index.ts";
import { openStage } from "../stage/stage.ts";
import { NoAnswer } from "../stage/wire.ts";
import { exampleSettings } from "./judged.ts";

type Serve = (request: IncomingMessage, response: ServerResponse, server: Server) => void;

const find = (id: string) => rules.find((rule) => rule.id === id)!;

/** The verdict of one rule on a service of one line, whose answers are waited for during `answerMs`. */
async function verdictOn(
  rule: Rule,
  serve: Serve,
  answerMs = 20_000,
): Promise<Pick<Verdict, "status" | "reason">> {
  const server = createServer((request, response) => serve(request, response, server));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stage = await openStage({
    ...exampleSettings,
    url,
    patience: { ...exampleSettings.patience, answerMs },
  });
  try {
    const [verdict] = await judge(stage, [rule]);
    return { status: verdict!.status, reason: verdict!.reason };
  } finally {
    await stage.close();
    server.closeAllConnections();
    server.close();
  }
}

const answering = (text: string) => (request: IncomingMessage, response: ServerResponse) => {
  request.resume();
  response.writeHead(200, { "content-type": "application/json" }).end(text);
};
const large =
  (serve: Serve): Serve =>
  (request, response, server) =>
    Number(request.headers["content-length"] ?? 0) > 1024 * 1024
      ? serve(request, response, server)
      : answering("{}")(request, response);

it("REQ-15 accepts a closed connection after 5 MB, but no service that stops or does not answer afterwards", async () => {
  const [hangsUp, ends, waits, doesNotRead] = await Promise.all(
    [
      large(({ socket }) => void socket.destroy()),
      large(({ socket }, _response, server) => void (socket.destroy(), server.close())),
      large((request) => void request.resume()),
      large(() => undefined),
    ].map((serve) => verdictOn(find("REQ-15"), serve, 8_000)),
  );
  expect(hangsUp).toEqual({ status: "passed", reason: null });
  expect(ends).toEqual({
    status: "failed",
    reason: expect.stringMatching(/^After 5 MB a usual call was not answered: .*ECONN/),
  });
  expect(waits).toEqual({
    status: "failed",
    reason: "5 MB were neither answered nor refused. There was no answer within 8 s.",
  });
  // A service that reads slowly is not at fault, and a slow network looks the same.
  expect(doesNotRead).toEqual({ status: "skipped", reason: expect.stringContaining("the way") });
});

it("a provision without an answer fails its own rule, and other rules that need it are skipped", async () => {
  const mute: Serve = ({ method }, response) => void (method === "POST" || response.writeHead(204).end());
  const ids = ["PROV-01", "EXCH-01", "ERR-01"];
  const verdicts = await Promise.all(ids.map((id) => verdictOn(find(id), mute, 1_000)));
  expect(verdicts).toEqual([
    { status: "failed", reason: "A provision got no answer." },
    {
      status: "skipped",
      reason: "a provision has to be accepted first, and was answered with no answer (PROV-01).",
    },
    { status: "skipped", reason: expect.any(String) },
  ]);
});

it("a service behind https is called by TLS on kept connections too", async () => {
  const firstBytes: number[] = [];
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (data) => void (firstBytes.push(data[0]!), socket.destroy()));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stage = await openStage({ ...exampleSettings, url });
  const calling = stage.service.onOneConnection([{ method: "DELETE", below: "/any" }]);
  await expect(calling).rejects.toBeInstanceOf(NoAnswer);
  const aHandshake = 22;
  expect(firstBytes).toEqual([aHandshake]);
  await stage.close();
  server.close();
});

it.each(["{'id': 'x'}", "[]", "null", ""])(
  "PROV-02 accepts no answer of %j as a JSON object",
  async (text) => {
    const verdict = await verdictOn(find("PROV-02"), answering(text));
    expect(verdict).toEqual({ status: "failed", reason: "The body is no JSON object." });
  },
);

it.each([
  [
    "Express",
    "<pre>Error: x<br> &nbsp; &nbsp;at find (/srv/app/store.js:7:1)<br> &nbsp; &nbsp;at next (/srv/a.js:1:2)</pre>",
  ],
  [
    "PHP",
    "PDOException: x in /srv/app/store.php:12\nStack trace:\n#0 /srv/app/index.php(12): find()\n#1 {main}",
  ],
  ["ASP.NET", "System.Exception: x\r\n   at Shop.Store.Find(String id) in C:\\new\\Store.cs:line 12"],
  ["ASP.NET in JSON", JSON.stringify({ trace: "x\r\n   at Shop.Find() in C:\\new\\Store.cs:line 12" })],
  ["Java in JSON with numbers", '{"trace": "x\\u000a\\u0009at com.shop.Store.find(Store.java:12)\\u000A"}'],
  ["Java in JSON", JSON.stringify({ trace: "x\r\n\tat com.shop.Store.find(Store.java:12)\r\n" })],
])("ERR-03 recognises a stack trace of %s", async (_language, text) => {
  const verdict = await verdictOn(find("ERR-03"), answering(text));
  expect(verdict).toEqual({ status: "failed", reason: "The body of a 200 shows a stack of calls." });
});

it("an error in the checker is reported as its own, without quoting an answer", async () => {
  const failing = (check: Rule["check"]) => verdictOn({ ...find("PROV-02"), check }, answering("{}"));
  const status = "checker_failed";
  const parsing = await failing(() => Promise.resolve(void JSON.parse("a-secret")));
  expect(parsing).toEqual({ status, reason: "the checker failed: it could not read something." });
  const other = await failing(() => Promise.reject(new Error("The sandbox is gone.")));
  expect(other).toEqual({ status, reason: "the checker failed: The sandbox is gone." });
  const cut = await verdictOn(find("AUTH-01"), ({ socket }) => void socket.destroy());
  expect(cut).toEqual({ status: "failed", reason: expect.stringMatching(/^There was no answer: /) });
});
