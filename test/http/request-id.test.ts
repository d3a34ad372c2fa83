import { expect, it } from "@jest/globals";
import type { AddressInfo } from "node:net";
import express, { type Response } from "express";
import request from "supertest";
import { answerWithRequestId } from "../../src/http/request-id.ts";
import { createHttpServer } from "../../src/http/server.ts";
import { rawHttp } from "../support/raw-http.ts";

it.each([
  ["json()", (response: Response) => void response.set("X-Other", "kept").json({})],
  ["end() alone", (response: Response) => void response.set("X-Other", "kept").end()],
  ["a redirect", (response: Response) => response.set("X-Other", "kept").redirect("/elsewhere")],
  [
    "writeHead() with headers",
    (response: Response) => void response.writeHead(200, { "X-Other": "kept" }).end(),
  ],
  [
    "writeHead() after headers were set",
    (response: Response) => void response.set("X-Other", "kept").writeHead(200, { "X-More": "too" }).end(),
  ],
  [
    "writeHead() with a status message",
    (response: Response) => void response.writeHead(200, "Fine", { "X-Other": "kept" }).end(),
  ],
  [
    "writeHead() with a list of headers",
    (response: Response) => void response.writeHead(200, ["X-Other", "kept"]).end(),
  ],
] as [string, (response: Response) => void][])(
  "an answer by %s carries the request's id and the headers of every answer",
  async (_, answer) => {
    const app = express();
    app.use((request, _response, next) => {
      request.id = "the-id-of-the-request";
      next();
    });
    app.use(answerWithRequestId, (_request, response) => answer(response));
    const { headers } = await request(app).get("/");
    expect(headers).toMatchObject({ "request-id": "the-id-of-the-request", "x-other": "kept" });
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "strict-transport-security": "max-age=31536000",
    });
  },
);

it("an answer to a request that no code of ours has seen carries none", async () => {
  const app = express();
  app.use(answerWithRequestId);
  const server = createHttpServer(app).listen(0);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const lines of [
      "GET / HTTP/1.1",
      "GET / HTTP/1.1\r\nHost: here\r\nExpect: nothing",
      "GET http://[ HTTP/1.1\r\nHost: here",
    ]) {
      const { statuses, text } = await rawHttp(url, `${lines}\r\nConnection: close\r\n\r\n`);
      expect(statuses[0]).toBeGreaterThanOrEqual(400);
      expect(text.toLowerCase()).not.toContain("request-id");
    }
  } finally {
    server.close();
  }
});
