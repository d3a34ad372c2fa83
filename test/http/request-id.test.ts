import { expect, it } from "@jest/globals";
import express, { type Response } from "express";
import request from "supertest";
import { answerWithRequestId } from "../../src/http/request-id.ts";

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
  "an answer by %s carries the request's id",
  async (_, answer) => {
    const app = express();
    answerWithRequestId(app);
    app.use((request, response) => {
      request.id = "the-id-of-the-request";
      answer(response);
    });
    const { headers } = await request(app).get("/");
    expect(headers).toMatchObject({ "request-id": "the-id-of-the-request", "x-other": "kept" });
  },
);
