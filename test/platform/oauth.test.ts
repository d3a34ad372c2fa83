import { inspect } from "node:util";
import { oauthGrantOf } from "../../src/platform/authorizations.ts";
import { TransportError } from "../../src/platform/call.ts";
import { judgeTokenAnswer, type TokenAnswer, tokenEndpointAt } from "../../src/platform/oauth.ts";
import { Secret } from "../../src/secret.ts";
import { readTime } from "../../src/values.ts";
import { PLAYED, playedPlatform } from "../support/played-platform.ts";
import { MEDIA_TYPE, UUID } from "./api-client.ts";
import { anHttp } from "./local-server.ts";

const platform = playedPlatform();
const { PLATFORM_API_URL: apiUrl, PLATFORM_AUTH_URL: authUrl } = PLAYED;

const HOUR = 3_600;
const good = { access_token: "SVCK-a", refresh_token: "r", expires_in: 2 * HOUR, token_type: "Bearer" };

function judged(status: number, body: unknown, headers = {}, sent: string[] = []): TokenAnswer {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return judgeTokenAnswer({ status, headers, body: text }, sent);
}

function revealed(answer: TokenAnswer) {
  if (answer.outcome !== "issued") return answer.outcome;
  const { accessToken, refreshToken, lifeSeconds } = answer.tokens;
  return [accessToken.reveal(), refreshToken?.reveal() ?? null, lifeSeconds];
}

describe("a call to the token endpoint", () => {
  it("exchanges a code with a form, with no secret in the address", async () => {
    platform.answers("POST /oauth/token", { status: 201, body: good });
    const endpoint = tokenEndpointAt({ http: anHttp(), authUrl });
    const answer = await endpoint.exchange(new Secret("c&d"), new Secret("s=t +"));
    expect(revealed(answer)).toEqual(["SVCK-a", "r", 2 * HOUR]);
    expect(platform.sent).toMatchObject([
      {
        text: "grant_type=authorization_code&code=c%26d&client_secret=s%3Dt+%2B",
        headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      },
    ]);
  });

  it("refreshes with a form, which has no code", async () => {
    platform.answers("POST /oauth/token", { body: good });
    const endpoint = tokenEndpointAt({ http: anHttp(), authUrl });
    await expect(endpoint.refresh(new Secret("r"), new Secret("s"))).resolves.toMatchObject({
      outcome: "issued",
    });
    expect(platform.sent[0]!.body).toEqual({
      grant_type: "refresh_token",
      refresh_token: "r",
      client_secret: "s",
    });
  });

  it("never throws, whatever the HTTP client does", async () => {
    const http = { send: () => Promise.reject(new TypeError("the-secret")), close: async () => {} };
    const endpoint = tokenEndpointAt({ http, authUrl: "http://x" });
    const answer = await endpoint.refresh(new Secret("r"), new Secret("the-secret"));
    expect(answer).toMatchObject({ outcome: "bug", error: { id: "internal_error" } });
    expect(JSON.stringify(answer)).not.toContain("the-secret");
  });
});

describe("a success with an unusual body", () => {
  const token = "SVCK-a";
  const withMember = (members: object) => ({ ...good, ...members });
  it.each<[string, number, unknown, unknown]>([
    ["HTML", 200, "<html>Welcome</html>", "unknown"],
    ["an empty body", 200, "", "unknown"],
    ["half an answer", 200, JSON.stringify(good).slice(0, 30), "unknown"],
    ["a number for a token", 200, withMember({ access_token: 7 }), "unknown"],
    ["an error with status 200", 200, { error: "invalid_grant" }, "unknown"],
    ["a line break in the token", 200, withMember({ access_token: "SVCK-a\r\nx: y" }), "unknown"],
    ["a token of 513 characters", 200, withMember({ access_token: "a".repeat(513) }), "unknown"],
    ["a token without the prefix", 200, withMember({ access_token: "old" }), ["old", "r", 2 * HOUR]],
    ["a byte order mark before it", 200, `\uFEFF${JSON.stringify(good)}`, [token, "r", 2 * HOUR]],
    ["expires_in abc", 200, withMember({ expires_in: "abc" }), [token, "r", 8 * HOUR]],
    ["expires_in 1e12", 200, withMember({ expires_in: 1e12 }), [token, "r", 8 * HOUR]],
    ["expires_in as digits", 200, withMember({ expires_in: "60" }), [token, "r", 60]],
    ["no expires_in", 200, withMember({ expires_in: undefined }), [token, "r", 8 * HOUR]],
    ["token type mac", 200, withMember({ token_type: "mac" }), [token, "r", 2 * HOUR]],
    ["no refresh", 200, withMember({ refresh_token: null }), [token, null, 2 * HOUR]],
    ["a line break in it", 200, withMember({ refresh_token: "r\n" }), [token, null, 2 * HOUR]],
    ["unknown members", 200, withMember({ user_id: "u", session_nonce: "n", x: {} }), [token, "r", 2 * HOUR]],
  ])("is stored as far as it is usable and well-formed: %s", (_name, status, body, expected) => {
    expect(revealed(judged(status, body))).toEqual(expected);
  });

  it("is reported without its content", () => {
    expect(JSON.stringify(judged(200, { token: "SVCK-hush", message: "SVCK-hush" }))).not.toContain("hush");
  });
});

describe("an error answer of the token endpoint", () => {
  it.each<[number, unknown, string, string]>([
    [400, { error: "invalid_grant" }, "token_rejected", "invalid_grant"],
    [401, { error: "invalid_grant" }, "token_rejected", "invalid_grant"],
    [401, { error: "invalid_client" }, "client_rejected", "invalid_client"],
    [400, { error: "invalid_client" }, "client_rejected", "invalid_client"],
    [401, { id: "unauthorized", message: "no" }, "unauthorized", "unauthorized"],
    [401, "<html>", "unauthorized", "http_401"],
    [400, { error: "invalid_request" }, "bug", "invalid_request"],
    [400, "nonsense", "bug", "http_400"],
    [404, { id: "not_found", message: "?" }, "bug", "not_found"],
    [400, { error: "temporarily_unavailable" }, "not_issued", "temporarily_unavailable"],
    [403, { error: "slow_down" }, "not_issued", "slow_down"],
    [429, { id: "rate_limit", message: "slow" }, "not_issued", "rate_limit"],
    [503, { error: "temporarily_unavailable" }, "not_issued", "temporarily_unavailable"],
    [500, { error: "server_error" }, "not_issued", "server_error"],
    [500, { id: "internal", message: "?" }, "unknown", "internal"],
    [502, "<html>Bad gateway</html>", "unknown", "http_502"],
    [304, "", "unknown", "http_304"],
    [400, { error: { code: 7 } }, "bug", "http_400"],
  ])("%d %j is %s (%s)", (status, body, outcome, id) => {
    expect(judged(status, body)).toMatchObject({ outcome, error: { id } });
  });

  it("is reported with its message, shortened to one line, without what we sent", () => {
    const sent = ["s3cret+/=", "the code"];
    const said = `secret s3cret+/= or s3cret%2B%2F%3D,\r\nno "the+code" ${"x".repeat(500)}`;
    const answer = judged(400, { error: "invalid_grant", error_description: said }, {}, sent);
    const message = answer.outcome === "issued" ? "" : answer.error.message;
    expect(message).toMatch(
      /^POST \/oauth\/token answered 400 invalid_grant: secret \[secret\] or \[secret\], no "\[secret\]" x+…$/,
    );
    expect(message.length).toBeLessThan(260);
  });

  it("never has a secret as its error code", () => {
    expect(judged(400, { error: "the-code" }, {}, ["the-code"])).toMatchObject({ error: { id: "http_400" } });
  });
});

describe("Retry-After", () => {
  const NEW_YEAR = "Thu, 01 Jan 2026 00:00";
  it.each<[string, Record<string, string>, number | undefined]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["a date", { "retry-after": `${NEW_YEAR}:30 GMT`, date: `${NEW_YEAR}:00 GMT` }, 30_000],
    ["a past date", { "retry-after": "Wed, 01 Jan 1969 00:00:00 GMT" }, 1_000],
    ["nothing", {}, undefined],
    ["words", { "retry-after": "soon" }, undefined],
    ["zero", { "retry-after": "0" }, 1_000],
    ["a billion", { "retry-after": "1000000000" }, 900_000],
  ])("is read from %s", (_name, headers, expected) => {
    const answer = judged(429, "", headers);
    expect(answer).toMatchObject({ outcome: "not_issued" });
    expect("retryAfterMs" in answer ? answer.retryAfterMs : undefined).toBe(expected);
  });
});

describe("a token call without an answer", () => {
  const CALL = { method: "POST", url: new URL("https://auth.example/oauth/token") };
  type Failure = ConstructorParameters<typeof TransportError>;
  it.each<[id: Failure[0], details: Failure[3], outcome: string]>([
    ["timed_out", {}, "unknown"],
    ["connection_failed", {}, "unknown"],
    ["connection_failed", { mayHaveArrived: false }, "not_issued"],
    ["redirect_refused", { status: 307 }, "not_issued"],
    ["answer_too_large", { status: 200 }, "unknown"],
    ["answer_too_large", { status: 401 }, "unauthorized"],
  ])("after %s %j is %s, and is not repeated", async (id, details, outcome) => {
    let calls = 0;
    const send = () => Promise.reject((calls++, new TransportError(id, CALL, "failed", details)));
    const endpoint = tokenEndpointAt({ http: { send, close: async () => {} }, authUrl: CALL.url.origin });
    const answer = await endpoint.refresh(new Secret("r"), new Secret("s"));
    expect(answer).toEqual({ outcome, error: { id, message: `POST ${CALL.url} failed` } });
    expect(calls).toBe(1);
  });
});

const PASSWORD = "p:ss wörd";
const grant = {
  oauth_grant: { code: "the-code", type: "authorization_code", expires_at: "2016-03-03T18:01:31-0800" },
};

const ASKED = `GET /vendor/resources/${UUID}/oauth-grant`;

function askedGrant() {
  const login = { addonId: "teapots", addonPassword: new Secret(PASSWORD) };
  return oauthGrantOf({ http: anHttp(), apiUrl, mediaType: MEDIA_TYPE }, login, UUID);
}

describe("a call to the oauth-grant endpoint", () => {
  it("asks for one resource with Basic credentials, the API's Accept header and nothing in the address", async () => {
    platform.answers(ASKED, { body: grant });
    const got = await askedGrant();
    const authorization = `Basic ${Buffer.from(`teapots:${PASSWORD}`, "utf8").toString("base64")}`;
    expect(platform.sent).toMatchObject([{ text: "", headers: { accept: MEDIA_TYPE, authorization } }]);
    expect(got.code.reveal()).toBe("the-code");
    expect(got.expiresAt).toBe("2016-03-03T18:01:31-0800");
    expect(inspect(got, { depth: 9 }) + JSON.stringify(got)).not.toContain("the-code");
  });

  it.each(["<html>", [grant], { oauth_grant: { code: "" } }, { oauth_grant: { code: "x".repeat(2049) } }])(
    "fails when the answer is no grant: %j",
    async (body) => {
      platform.answers(ASKED, { body });
      await expect(askedGrant()).rejects.toMatchObject({ id: "unreadable_answer" });
    },
  );

  it("that is refused is reported with the platform's message, without what we sent", async () => {
    const said = { id: "rate_limit", message: `no "${PASSWORD}"\r\n${"x".repeat(400)}` };
    platform.answers(ASKED, { status: 429, body: said });
    await expect(askedGrant()).rejects.toThrow(/429 rate_limit: no "\[secret\]" x+…$/);
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
