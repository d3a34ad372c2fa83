import { randomUUID } from "node:crypto";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { basic, type PartnerCalls, partnerCalls } from "../support/partner-calls.ts";
import { rawHttp } from "../support/raw-http.ts";
import { aWorld, opened } from "../support/world.ts";

const PASSWORD = "p4ss:with:colons-and-ünïcode";
const PREVIOUS = "the-password-before-this-one";
const RIGHT = basic("teapots", PASSWORD);

let platform: PartnerCalls;
const world = opened(() =>
  aWorld({ sandbox: { addonPassword: PASSWORD }, environment: { ADDON_PASSWORD_PREVIOUS: PREVIOUS } }),
);
beforeAll(() => void (platform = partnerCalls(world)));

const refusal = {
  id: "unauthorized",
  message: "Send the right user name and password with HTTP Basic authentication.",
};

describe("wrong credentials", () => {
  it.each<[string, string | null]>([
    ["none", null],
    ["an empty header", ""],
    ["a scheme alone", "Basic"],
    ["another scheme", RIGHT.replace("Basic", "Bearer")],
    ["a wrong password", basic("teapots", "wrong")],
    ["a wrong user", basic("kettles", PASSWORD)],
    ["user and password without a colon", `Basic ${Buffer.from("teapots").toString("base64")}`],
    ["not base64 at all", "Basic ????"],
    ["base64 with a dot in it", RIGHT.replace("Basic dGVh", "Basic dGVh.")],
    ["base64 without its padding", RIGHT.replace(/=+$/, "")],
    ["two credentials in one header", `${RIGHT}, ${RIGHT}`],
    ["10 kB of it", basic("teapots", "x".repeat(7_500))],
    ["control characters", basic("teapots", "a\r\nb\0")],
    ["another encoding", `Basic ${Buffer.from(`teapots:${PASSWORD}`, "latin1").toString("base64")}`],
  ])("are refused like all others: %s", async (_case, authorization) => {
    const answer = await platform.provision(aProvisionRequest(), { headers: { authorization } });
    expect({ status: answer.status, body: answer.body as unknown }).toEqual({ status: 401, body: refusal });
    expect(answer.headers["www-authenticate"]).toBe('Basic realm="platform"');
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  });

  it("are refused like all others: each prefix of the password, and of the user", async () => {
    const beginnings = (text: string) => Array.from(text, (_, length) => text.slice(0, length));
    const wrong = [
      ...beginnings(PASSWORD).map((password) => basic("teapots", password)),
      ...beginnings("teapots").map((user) => basic(user, PASSWORD)),
    ];
    for (const authorization of wrong) {
      const answer = await platform.deprovision(randomUUID(), { headers: { authorization } });
      expect({ status: answer.status, body: answer.body as unknown }).toEqual({ status: 401, body: refusal });
    }
  });

  it("in large numbers keep out no provision, and leave nothing behind", async () => {
    const headers = { authorization: basic("teapots", "wrong") };
    const many = Array.from({ length: 200 }, () => platform.provision(aProvisionRequest(), { headers }));
    const provisions = Array.from({ length: 5 }, () => aProvisionRequest());
    for (const request of provisions) expect((await platform.provision(request)).status).toBe(200);
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([401]));
    const kept = await world.rows<{ uuid: string }>(`SELECT uuid FROM resources`);
    await world.forged.nothingIsLeftOf("resources");
    expect(kept.map(({ uuid }) => uuid).sort()).toEqual(provisions.map(({ uuid }) => uuid).sort());
  });

  it.each([
    ["the right one first", [RIGHT, basic("teapots", "wrong")]],
    ["the right one last", [basic("teapots", "wrong"), RIGHT]],
    ["the right one twice", [RIGHT, RIGHT]],
  ])("are refused in two headers, %s", async (_case, [first, second]) => {
    // Alone the right header is accepted, and remembered afterwards; beside another header it is refused all the same.
    expect(await platform.changePlan(randomUUID(), { plan: "premium" })).toMatchObject({ status: 404 });
    const { statuses } = await rawHttp(
      world.service.url!,
      `DELETE /resources/${randomUUID()} HTTP/1.1\r\nHost: x\r\nAuthorization: ${first}\r\nAuthorization: ${second}\r\n\r\n`,
    );
    expect(statuses).toEqual([401]);
  });
});

it.each([
  ["as they are", RIGHT],
  ["the scheme in lower case", RIGHT.replace("Basic", "basic")],
  ["two spaces after the scheme", RIGHT.replace(" ", "  ")],
  ["the password that was valid before", basic("teapots", PREVIOUS)],
])("right credentials are accepted: %s", async (_case, authorization) => {
  const answer = await platform.deprovision(randomUUID(), { headers: { authorization } });
  expect(answer.status).toBe(404);
});

describe("authentication", () => {
  const wrong = { headers: { authorization: basic("teapots", "wrong") } };
  it("happens before a body is read, and the connection is closed", async () => {
    const head = "Host: x\r\nContent-Type: application/json\r\nContent-Length: 200000";
    const answer = await rawHttp(world.service.url!, `POST /resources HTTP/1.1\r\n${head}\r\n\r\n{"uuid":`);
    expect(answer).toMatchObject({ statuses: [401], closed: true });
    expect(answer.text).toMatch(/^connection: close/im);
  });

  it.each([
    ["not asked for it with a wrong password", basic("teapots", "wrong"), [401]],
    ["asked for it with the right one", RIGHT, [100, 422]],
  ])("a client that announces its body is %s", async (_, authorization, statuses) => {
    const head = `Host: x\r\nConnection: close\r\nAuthorization: ${authorization}\r\nContent-Length: 4`;
    const answer = await rawHttp(
      world.service.url!,
      `POST /resources HTTP/1.1\r\n${head}\r\nExpect: 100-continue\r\n\r\nnull`,
    );
    expect(answer).toMatchObject({ statuses });
  });

  it("happens before the uuid is looked up or validated", async () => {
    const { body } = await platform.provision(aProvisionRequest());
    const { id } = body as { id: string };
    for (const uuid of [id, randomUUID(), "no-uuid", "%zz"]) {
      expect(await platform.deprovision(uuid, wrong)).toMatchObject({ status: 401, body: refusal });
      expect(await platform.changePlan(uuid, { plan: "premium" }, wrong)).toMatchObject({ status: 401 });
    }
    expect(await world.rows(`SELECT plan, state FROM resources WHERE uuid = $1`, [id])).toEqual([
      { plan: "basic", state: "provisioned" },
    ]);
  });
});

describe("authentication is required in every environment", () => {
  const before = process.env["NODE_ENV"];
  afterAll(() => void (process.env["NODE_ENV"] = before));

  it.each(["production", "development", ""])("NODE_ENV=%s", async (value) => {
    process.env["NODE_ENV"] = value;
    await world.restart();
    const answer = await platform.provision(aProvisionRequest(), { headers: { authorization: null } });
    expect({ status: answer.status, body: answer.body as unknown }).toEqual({ status: 401, body: refusal });
  });

  it("the former password and an empty one are refused without ADDON_PASSWORD_PREVIOUS", async () => {
    await world.restart({ environment: { ADDON_PASSWORD_PREVIOUS: "" } });
    for (const password of [PREVIOUS, ""]) {
      const headers = { authorization: basic("teapots", password) };
      expect((await platform.deprovision(randomUUID(), { headers })).status).toBe(401);
    }
  });
});

describe("routes without credentials", () => {
  const open = ["/healthz", "/readyz"];
  const guarded = ["/resources", "/RESOURCES", "/resources/", `/resources/${randomUUID()}`, "/resources/a/b"];
  const none = "/ /resource //resources /healthz/deep /operator /metrics /.env".split(" ");
  it.each([...open, ...guarded, ...none])("reveal nothing: %s", async (path) => {
    for (const method of ["get", "head", "post", "put", "patch", "delete", "options", "trace"]) {
      const { status } = await platform.send(method, path, undefined, { headers: { authorization: null } });
      const whenOpen = ["get", "head"].includes(method) ? 200 : 405;
      const expected = open.includes(path) ? whenOpen : guarded.includes(path) ? 401 : 404;
      expect([method, status]).toEqual([method, expected]);
    }
  });
});
