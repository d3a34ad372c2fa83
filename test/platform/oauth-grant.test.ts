import { inspect } from "node:util";
import { readTime } from "../../src/credentials/grant.ts";
import { oauthGrantOf, type GrantAnswer } from "../../src/platform/oauth-grant.ts";
import { Secret } from "../../src/secret.ts";
import { inOrder, MEDIA_TYPE, UUID } from "./api-client.ts";
import { type Answering, aClosedPort, anHttp, aServer } from "./local-server.ts";

const PASSWORD = "p:ss wörd";
const good = {
  oauth_grant: { code: "the-code", type: "authorization_code", expires_at: "2016-03-03T18:01:31-0800" },
};

function grantAt(apiUrl: string): Promise<GrantAnswer> {
  const login = { addonId: "teapots", addonPassword: new Secret(PASSWORD) };
  return oauthGrantOf({ http: anHttp(), apiUrl, mediaType: MEDIA_TYPE }, login, UUID);
}

const answering =
  (status: number, body: unknown, headers = {}): Answering =>
  (_seen, response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

describe("a call to the oauth-grant endpoint", () => {
  it("asks for one resource with Basic credentials, the API's Accept header and nothing in the address", async () => {
    const server = await aServer(inOrder(good));
    const answer = await grantAt(server.url);
    const authorization = `Basic ${Buffer.from(`teapots:${PASSWORD}`, "utf8").toString("base64")}`;
    expect(server.seen).toMatchObject([
      {
        ...{ method: "GET", url: `/vendor/resources/${UUID}/oauth-grant`, body: "" },
        headers: { accept: MEDIA_TYPE, authorization },
      },
    ]);
    if (answer.outcome !== "grant") throw new Error(answer.outcome);
    expect(answer.grant.code.reveal()).toBe("the-code");
    expect(answer.grant.expiresAt).toBe("2016-03-03T18:01:31-0800");
    expect(inspect(answer, { depth: 9 }) + JSON.stringify(answer)).not.toContain("the-code");
  });

  it("may be retried when the connection is refused, or the answer is a redirect or too large", async () => {
    const elsewhere = await aServer(inOrder(good));
    const redirect = await aServer(answering(307, "", { location: elsewhere.url }));
    const large = await aServer(inOrder({ ...good, pad: "x".repeat(100_000) }));
    for (const [url, id] of [
      [await aClosedPort(), "connection_failed"],
      [redirect.url, "redirect_refused"],
      [large.url, "answer_too_large"],
    ])
      expect(await grantAt(url!)).toMatchObject({ outcome: "not_now", error: { id } });
    expect(elsewhere.seen).toEqual([]);
  });
});

describe("an answer of the oauth-grant endpoint", () => {
  it.each<[number, unknown, string, string]>([
    [401, { id: "unauthorized", message: "no" }, "credentials_rejected", "unauthorized"],
    [403, "<html>", "closed", "http_403"],
    [404, { id: "not_found", message: "no" }, "unknown", "not_found"],
    [409, { id: "conflict", message: "exchanged" }, "already_exchanged", "conflict"],
    [422, { id: "invalid_params", message: "exchanged" }, "already_exchanged", "invalid_params"],
    [503, { id: "service_unavailable", message: "later" }, "not_now", "service_unavailable"],
    [200, "<html>", "not_now", "unreadable_answer"],
    [200, [good], "not_now", "unreadable_answer"],
    [200, { oauth_grant: { code: "" } }, "not_now", "unreadable_answer"],
    [200, { oauth_grant: { code: "x".repeat(2049) } }, "not_now", "unreadable_answer"],
  ])("%d %j is %s (%s)", async (status, body, outcome, id) => {
    const answer = await grantAt((await aServer(answering(status, body))).url);
    expect(answer).toMatchObject({ outcome, error: { id } });
    expect(JSON.stringify(answer)).not.toContain("the-code");
  });

  it("that refuses is reported with its message, without what we sent", async () => {
    const said = { id: "rate_limit", message: `no "${PASSWORD}"\r\n${"x".repeat(400)}` };
    const answer = await grantAt((await aServer(answering(429, said))).url);
    expect(answer).toMatchObject({ outcome: "not_now" });
    expect(answer.outcome !== "grant" && answer.error.message).toMatch(
      /429 rate_limit: no "\[secret\]" x+…$/,
    );
  });
});

it.each<[unknown, string | null]>([
  ["2016-03-03T18:01:31-0800", "2016-03-04T02:01:31.000Z"],
  ["2016-03-03T18:01:31-08:00", "2016-03-04T02:01:31.000Z"],
  ["2016-03-03T18:01:31.250Z", "2016-03-03T18:01:31.250Z"],
  ["soon", null],
  ["", null],
  [7, null],
  ["0001-01-01T00:00:00+0000", null],
])("the expiry time of a grant is read from %j", (text, expected) => {
  expect(readTime(text)?.toISOString() ?? null).toBe(expected);
});
