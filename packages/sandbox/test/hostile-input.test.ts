import { request as requestOf } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { aWorld, type TestWorld } from "./world.ts";

/** Malicious input at every endpoint of the sandbox: it is refused with a clear message, and the sandbox continues. */
let world: TestWorld;
let token: string;
let addon: { id: string };
beforeEach(async () => {
  // With a listener for each call, as in the command: every call must be printable.
  world = await aWorld({ onEntry: () => undefined, addonManifest: null });
  world.control.createApp({ name: "shop" });
  ({ addon, token } = await world.installed({ app: "shop" }));
});
afterEach(() => world.close());

const deep = "[".repeat(100_000) + "]".repeat(100_000);
const large = "x".repeat(3 * 1024 * 1024);

async function send(method: string, path: string, body: string, headers: Record<string, string> = {}) {
  const before = process.cpuUsage();
  const response = await fetch(world.sandbox.url + path, {
    method,
    headers: {
      accept: "application/vnd.svc+json; version=3",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...headers,
    },
    body,
  });
  const answer = {
    status: response.status,
    body: (await response.json()) as { id: string; message: string },
  };
  // At once, whatever else the machine does.
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  return answer;
}

it.each([
  ["POST", "/oauth/token", "application/x-www-form-urlencoded"],
  ["PATCH", "/addons/widgets/config", "application/json"],
  ["POST", "/sandbox/apps", "application/json"],
])("%s %s refuses a body that is too large with a readable answer", async (...call) => {
  const [method, path, type] = call;
  expect((await send(method, path, large, { "content-type": type })).status).toBe(413);
});

it("a body that is too large is in the ledger by its size only, and is refused in the format of its endpoint", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const { body } = await send("POST", "/oauth/token", large, form);
  const error_description = "The body is larger than 1 MB.";
  expect(body).toEqual({ error: "invalid_request", error_description });
  expect((await send("PATCH", "/addons/widgets/config", large)).body).toMatchObject({
    id: "payload_too_large",
  });
  for (const reveal of [false, true]) {
    expect(world.control.ledger({ reveal }).entries.slice(-2)).toMatchObject([
      {
        path: "/oauth/token",
        request: { headers: form, body: "[not kept: 3145728 bytes]" },
        response: { status: 413, body: { error: "invalid_request" } },
      },
      { method: "PATCH", request: { body: "[not kept: 3145728 bytes]" }, response: { status: 413 } },
    ]);
  }
});

it("an endless body is cut off, and is in the ledger without an answer", async () => {
  let megabytes = 0;
  const pull = (stream: ReadableStreamDefaultController<Uint8Array>) =>
    megabytes++ < 70 ? stream.enqueue(new Uint8Array(1024 * 1024)) : stream.close();
  const init = { method: "POST", body: new ReadableStream({ pull }), duplex: "half" } as RequestInit;
  await expect(fetch(`${world.sandbox.url}/oauth/token`, init)).rejects.toThrow();
  const { request, response } = world.control.ledger().entries.at(-1)!;
  expect([request.body, response]).toEqual([expect.stringMatching(/^\[not kept: 67\d{6} bytes\]$/), null]);
});

it("a form of very many members is refused at once", async () => {
  const form = Array.from({ length: 100_000 }, (_, index) => `m${index}=`).join("&");
  const { status } = await send("POST", "/oauth/token", form, {
    "content-type": "application/x-www-form-urlencoded",
  });
  expect(status).toBe(401);
});

it("half of a character is refused where a name or a secret is set, so that every call can still be printed", async () => {
  for (const member of ["addonId", "addonPassword", "clientSecret", "ssoSalt"])
    expect(await send("PUT", "/sandbox/partner", `{"${member}": "half \\ud800"}`)).toMatchObject({
      status: 422,
      body: { message: `${member}: contains half of a character.` },
    });
  const id = '{"addonManifest": {"id": "half \\ud800", "plans": []}}';
  expect((await send("PUT", "/sandbox/partner", id)).status).toBe(422);
  expect((await world.call(token, "/apps")).status).toBe(200);
});

it("a call whose caller leaves before its request is complete is not in the ledger", async () => {
  const before = world.control.ledger().entries;
  const caller = requestOf(`${world.sandbox.url}/oauth/token`, { method: "POST" });
  caller.on("error", () => undefined).write(large);
  await sleep(200);
  caller.destroy();
  await sleep(200);
  expect(world.control.ledger().entries).toEqual(before);
});

it.each([
  ["PATCH", "/addons/:addon/config", `{"config": ${deep}}`],
  ["POST", "/filters/apps", `{"in": {"id": ${deep}}}`],
  ["POST", "/sandbox/apps", `{"manifest": {"addons": [{"plan": "redis", "options": {"a": ${deep}}}]}}`],
  ["POST", "/sandbox/apps/shop/addons", `{"options": {"a": ${deep}}}`],
  ["POST", "/sandbox/faults", `{"match": "GET /apps", "action": {"status": 500, "body": ${deep}}}`],
])("%s %s refuses a body that is nested too deep", async (method, path, body) => {
  const refused = await send(method, path.replace(":addon", addon.id), body);
  expect(refused).toMatchObject({ status: 422, body: { message: "The body is nested too deep." } });
  expect(world.control.state()).toMatchObject({ apps: [{ name: "shop" }], addons: [{ id: addon.id }] });
});

it("a deeply nested answer of the service is kept as text, and is not accepted as an object", async () => {
  world.partner.answers({ status: 200, body: `{"a": ${deep}}` });
  const { response } = await world.control.install({ app: "shop" });
  expect(response.complaints).toContain("The answer's body is not a JSON object.");
  expect(typeof world.control.ledger().entries.at(-1)?.response?.body).toBe("string");
});

it.each([
  ["/addons/:addon/sso", { user: null }],
  ["/addons/:addon/sso", { user: { email: 5 } }],
  ["/addons/:addon/sso", { form: "yes" }],
  ["/addons/:addon/sso", { from: true }],
  ["/addons/:addon/revoke", { token: "both" }],
  ["/addons/:addon/attachments", { app: "shop", as: "X" }],
  ["/users/owner@example.com/token", { scope: [["global"]] }],
  ["/users/owner@example.com/token", { scopes: ["read"] }],
  ["/clients", { name: "A", redirect_uri: "https://a.example.com/", scope: [] }],
  ["/authorize", { url: "/oauth/authorize", allowed: false }],
  ["/clock", { advance: 1, unit: "minutes" }],
  ["/faults", { match: "GET /apps", action: { status: 200, headers: { "no name": "x" } } }],
  ["/faults", { match: "GET /apps", action: { status: 200, headers: { name: "a\r\nb: c" } } }],
])("the control API refuses ambiguous values at %s: %j", async (path, wish) => {
  const refused = await send("POST", `/sandbox${path.replace(":addon", addon.id)}`, JSON.stringify(wish));
  expect(refused).toMatchObject({ status: 422, body: { id: "invalid_params" } });
});
