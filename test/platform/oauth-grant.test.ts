import { inspect } from "node:util";
import { readTime } from "../../src/credentials/grant.ts";
import { oauthGrantOf } from "../../src/platform/authorizations.ts";
import { Secret } from "../../src/secret.ts";
import { inOrder, MEDIA_TYPE, UUID } from "./api-client.ts";
import { type Answering, aClosedPort, anHttp, aServer } from "./local-server.ts";

const PASSWORD = "p:ss wörd";
const good = {
  oauth_grant: { code: "the-code", type: "authorization_code", expires_at: "2016-03-03T18:01:31-0800" },
};

function grantAt(apiUrl: string) {
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
    const grant = await grantAt(server.url);
    const authorization = `Basic ${Buffer.from(`teapots:${PASSWORD}`, "utf8").toString("base64")}`;
    expect(server.seen).toMatchObject([
      {
        ...{ method: "GET", url: `/vendor/resources/${UUID}/oauth-grant`, body: "" },
        headers: { accept: MEDIA_TYPE, authorization },
      },
    ]);
    expect(grant.code.reveal()).toBe("the-code");
    expect(grant.expiresAt).toBe("2016-03-03T18:01:31-0800");
    expect(inspect(grant, { depth: 9 }) + JSON.stringify(grant)).not.toContain("the-code");
  });

  it("fails when the connection is refused, or the answer is a redirect or too large", async () => {
    const elsewhere = await aServer(inOrder(good));
    const redirect = await aServer(answering(307, "", { location: elsewhere.url }));
    const large = await aServer(inOrder({ ...good, pad: "x".repeat(100_000) }));
    for (const [url, id] of [
      [await aClosedPort(), "connection_failed"],
      [redirect.url, "redirect_refused"],
      [large.url, "answer_too_large"],
    ])
      await expect(grantAt(url!)).rejects.toMatchObject({ id });
    expect(elsewhere.seen).toEqual([]);
  });

  it.each(["<html>", [good], { oauth_grant: { code: "" } }, { oauth_grant: { code: "x".repeat(2049) } }])(
    "fails when the answer is no grant: %j",
    async (body) => {
      const { url } = await aServer(answering(200, body));
      await expect(grantAt(url)).rejects.toMatchObject({ id: "unreadable_answer" });
    },
  );

  it("that is refused is reported with the platform's message, without what we sent", async () => {
    const said = { id: "rate_limit", message: `no "${PASSWORD}"\r\n${"x".repeat(400)}` };
    const { url } = await aServer(answering(429, said));
    await expect(grantAt(url)).rejects.toThrow(/429 rate_limit: no "\[secret\]" x+…$/);
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
