import { inspect } from "node:util";
import { createHttp } from "../../src/platform/http.ts";
import { judgeGrantAnswer } from "../../src/platform/grant-answer.ts";
import { createOauthGrantEndpoint } from "../../src/platform/oauth-grant.ts";
import { readTime } from "../../src/credentials/grant.ts";
import { Secret } from "../../src/secret.ts";
import { type Answering, aClosedPort, aServer } from "./local-server.ts";

const UUID = "01234567-89ab-cdef-0123-456789abcdef";
const PASSWORD = "p:ss wörd";
const good = {
  oauth_grant: { code: "the-code", type: "authorization_code", expires_at: "2016-03-03T18:01:31-0800" },
};

const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

function grantAt(apiUrl: string, uuid = UUID) {
  const http = createHttp();
  closings.unshift(http.close);
  return createOauthGrantEndpoint({
    ...{ http, apiUrl, mediaType: "application/vnd.svc+json; version=3", timeoutMs: 2_000 },
    ...{ addonId: "teapots", addonPassword: new Secret(PASSWORD) },
  }).grantOf(uuid);
}

async function anApi(answer: Answering) {
  const server = await aServer(answer);
  closings.push(server.close);
  return server;
}

const judged = (status: number, body: unknown, headers = {}, sent: string[] = []) =>
  judgeGrantAnswer(
    { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) },
    sent,
    0,
  );

describe("a call to the oauth-grant endpoint", () => {
  it("asks for one resource with Basic credentials, the API's Accept header and nothing in the address", async () => {
    const server = await anApi((_seen, response) => response.end(JSON.stringify(good)));
    const answer = await grantAt(`${server.url}/`);
    expect(server.seen).toMatchObject([
      {
        method: "GET",
        url: `/vendor/resources/${UUID}/oauth-grant`,
        body: "",
        headers: {
          accept: "application/vnd.svc+json; version=3",
          authorization: `Basic ${Buffer.from(`teapots:${PASSWORD}`, "utf8").toString("base64")}`,
        },
      },
    ]);
    if (answer.outcome !== "grant") throw new Error(answer.outcome);
    expect(answer.grant.code.reveal()).toBe("the-code");
    expect(answer.grant.expiresAt).toBe("2016-03-03T18:01:31-0800");
    expect(inspect(answer, { depth: 9 }) + JSON.stringify(answer)).not.toContain("the-code");
  });

  it("times out when no answer comes", async () => {
    const server = await anApi(() => undefined);
    expect(await grantAt(server.url)).toMatchObject({ outcome: "not_now", error: { id: "timed_out" } });
  });

  it("follows no redirect with its credentials", async () => {
    const elsewhere = await anApi((_seen, response) => response.end(JSON.stringify(good)));
    const server = await anApi((_seen, response) =>
      response.writeHead(307, { location: `${elsewhere.url}/vendor` }).end(),
    );
    expect(await grantAt(server.url)).toMatchObject({
      outcome: "not_now",
      error: { id: "redirect_refused" },
    });
    expect(elsewhere.seen).toEqual([]);
  });

  it("may be retried when the connection is refused or the answer is too large", async () => {
    expect(await grantAt(await aClosedPort())).toMatchObject({ outcome: "not_now" });
    const server = await anApi((_seen, response) =>
      response.end(JSON.stringify({ ...good, pad: "x".repeat(100_000) })),
    );
    expect(await grantAt(server.url)).toMatchObject({
      outcome: "not_now",
      error: { id: "answer_too_large" },
    });
  });

  it("refuses an invalid uuid instead of calling another address", async () => {
    const server = await anApi((_seen, response) => response.end(JSON.stringify(good)));
    expect(await grantAt(server.url, "..")).toMatchObject({ outcome: "refused" });
    await grantAt(server.url, "a/../b");
    expect(server.seen.map(({ url }) => url)).toEqual(["/vendor/resources/a%2F..%2Fb/oauth-grant"]);
  });
});

describe("an answer of the oauth-grant endpoint", () => {
  it.each<[number, unknown, string, string]>([
    [401, { id: "unauthorized", message: "no" }, "credentials_rejected", "unauthorized"],
    [403, { id: "forbidden", message: "closed" }, "closed", "forbidden"],
    [403, "<html>", "closed", "http_403"],
    [404, { id: "not_found", message: "no" }, "unknown", "not_found"],
    [409, { id: "conflict", message: "exchanged" }, "already_exchanged", "conflict"],
    [410, { id: "gone", message: "exchanged" }, "already_exchanged", "gone"],
    [422, { id: "invalid_params", message: "exchanged" }, "already_exchanged", "invalid_params"],
    [400, { id: "bad_request", message: "?" }, "refused", "bad_request"],
    [406, "", "refused", "http_406"],
    [408, "", "not_now", "http_408"],
    [425, "", "not_now", "http_425"],
    [429, { id: "rate_limit", message: "slow" }, "not_now", "rate_limit"],
    [500, "<html>", "not_now", "http_500"],
    [503, { id: "service_unavailable", message: "later" }, "not_now", "service_unavailable"],
    [400, { id: "two words", message: 7 }, "refused", "http_400"],
  ])("%d %j is %s (%s)", (status, body, outcome, id) => {
    expect(judged(status, body)).toMatchObject({ outcome, error: { id } });
  });

  it.each<[string, number, unknown]>([
    ["HTML", 200, "<html>"],
    ["nothing", 204, ""],
    ["an array", 200, [good]],
    ["half an answer", 200, JSON.stringify(good).slice(0, 30)],
    ["a grant that is none", 200, { oauth_grant: "the-code" }],
    ["no code", 200, { oauth_grant: { type: "authorization_code" } }],
    ["an empty code", 200, { oauth_grant: { code: "" } }],
    ["a number for a code", 200, { oauth_grant: { code: 7 } }],
    ["a code of 2,049 characters", 200, { oauth_grant: { code: "x".repeat(2049) } }],
  ])("without a usable code is reported without its content: %s", (_name, status, body) => {
    expect(judged(status, body)).toEqual({
      outcome: "not_now",
      error: { id: "unreadable_answer", message: expect.stringMatching(/without a usable grant$/) },
    });
  });

  it("with any 2xx is a grant, whatever other members it has", () => {
    expect(judged(201, { ...good, more: 1 })).toMatchObject({ outcome: "grant" });
    expect(judged(200, { oauth_grant: { code: "c", type: "other", expires_at: 7 } })).toMatchObject({
      outcome: "grant",
      grant: { expiresAt: null },
    });
  });

  it("that refuses is reported with its message, without what we sent, and with its Retry-After", () => {
    const said = `no "${PASSWORD}"\r\n${"x".repeat(400)}`;
    const answer = judged(429, { id: "rate_limit", message: said }, { "retry-after": "7" }, [PASSWORD]);
    expect(answer).toMatchObject({ outcome: "not_now", retryAfterMs: 7_000 });
    expect(JSON.stringify(answer)).not.toContain(PASSWORD);
    expect(answer.outcome !== "grant" && answer.error.message).toMatch(
      /^GET \/vendor\/resources\/…\/oauth-grant answered 429 rate_limit: no "\[secret\]" x+…$/,
    );
  });
});

describe("the expiry time of a grant", () => {
  it.each<[unknown, string | null]>([
    ["2016-03-03T18:01:31-0800", "2016-03-04T02:01:31.000Z"],
    ["2016-03-03T18:01:31+0000", "2016-03-03T18:01:31.000Z"],
    ["2016-03-03T18:01:31-08:00", "2016-03-04T02:01:31.000Z"],
    ["2016-03-03T18:01:31.250Z", "2016-03-03T18:01:31.250Z"],
    ["soon", null],
    ["", null],
    [null, null],
    [7, null],
    ["0001-01-01T00:00:00+0000", null],
  ])("is read from %j", (text, expected) => {
    expect(readTime(text)?.toISOString() ?? null).toBe(expected);
  });
});
