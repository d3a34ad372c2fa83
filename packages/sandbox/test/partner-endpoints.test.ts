import { described } from "../../../test/support/openapi.ts";
import { aWorld, stopTime, type TestWorld } from "./world.ts";

type Row = Record<string, unknown> & { id: string; name: string };
type Endpoint = [method: string, path: string, answers: "one" | "many", body?: object];

/** Every path variable in each form that the document allows, replaced by values of the world below. */
const ENDPOINTS: Endpoint[] = [
  ["GET", "/addons/{addon id}", "one"],
  ["GET", "/addons/{addon name}", "one"],
  ["GET", "/addons", "many"],
  ["GET", "/users/~/addons", "many"],
  ["GET", "/users/{user id}/addons", "many"],
  ["GET", "/users/{user email}/addons", "many"],
  ["GET", "/apps/{app id}/addons", "many"],
  ["GET", "/apps/{app name}/addons", "many"],
  ["GET", "/addons/{addon id}/addon-attachments", "many"],
  ["GET", "/addons/{addon name}/addon-attachments", "many"],
  ["GET", "/apps/{app id}/addon-attachments", "many"],
  ["GET", "/apps/{app name}/addon-attachments", "many"],
  ["GET", "/apps/{app id}/addon-attachments/{attachment id}", "one"],
  ["GET", "/apps/{app name}/addon-attachments/{attachment name}", "one"],
  ["GET", "/addons/{addon id}/config", "many"],
  ["GET", "/addons/{addon name}/config", "many"],
  ["PATCH", "/addons/{addon id}/config", "many", { config: [{ name: "WIDGET_TOKEN", value: "t" }] }],
  ["PATCH", "/addons/{addon name}/config", "many", { config: [{ name: "WIDGET_TOKEN", value: null }] }],
  ["GET", "/apps/{app id}", "one"],
  ["GET", "/apps/{app name}", "one"],
  ["GET", "/apps", "many"],
  ["GET", "/users/~/apps", "many"],
  ["GET", "/users/{user id}/apps", "many"],
  ["GET", "/users/{user email}/apps", "many"],
  ["POST", "/filters/apps", "many", { in: { id: ["{app id}"] } }],
  ["GET", "/apps/{app id}/collaborators", "many"],
  ["GET", "/apps/{app name}/collaborators", "many"],
  ["GET", "/apps/{app id}/domains", "many"],
  ["GET", "/apps/{app name}/domains", "many"],
  ["GET", "/addons/{addon id}/log-drains", "many"],
  ["PUT", "/addons/{addon id}/log-drains/{drain id}", "one", { url: "https://l.example.com/?a=1" }],
  ["PUT", "/addons/{addon id}/log-drains/{drain token}", "one", { url: "https://l.example.com/?a=1" }],
  ["PUT", "/addons/{addon id}/log-drains/{drain url}", "one", { url: "https://l.example.com/?a=1" }],
  ["POST", "/apps/{app id}/log-drains", "one", { url: "syslog+tls://logs.example.com:6514" }],
  ["GET", "/apps/{app name}/log-drains", "many"],
  ["GET", "/apps/{app id}/log-drains/{drain id}", "one"],
  ["GET", "/apps/{app id}/log-drains/{drain token}", "one"],
  ["GET", "/apps/{app name}/log-drains/{drain url}", "one"],
  ["GET", "/pipelines/{pipeline id}", "one"],
  ["GET", "/pipelines/{pipeline name}", "one"],
  ["GET", "/pipelines", "many"],
  ["GET", "/pipelines/{pipeline id}/pipeline-couplings", "many"],
  ["GET", "/pipeline-couplings", "many"],
  ["GET", "/pipeline-couplings/{coupling id}", "one"],
  ["GET", "/apps/{app id}/pipeline-couplings", "one"],
  ["GET", "/apps/{app name}/pipeline-couplings", "one"],
  ["GET", "/teams/{team id}/members", "many"],
  ["GET", "/teams/{team name}/members", "many"],
  ["DELETE", "/apps/{app id}/log-drains/{drain url}", "one"],
];

const description = described("packages/sandbox/partner-api.yaml");

let world: TestWorld;
let token: string;
let stranger: string;
const known: Record<string, string> = {};

let letTimeGoOn: () => void;

beforeAll(async () => {
  letTimeGoOn = stopTime();
  world = await aWorld();
  const app = world.control.createApp({ name: "team-shop", team: "makers" });
  const installed = await world.installed({ app: app.id, as: "MAIN" });
  token = installed.token;
  stranger = (await world.installed()).token;
  const get = async (path: string) => (await world.call<Row>(token, path)).body;
  const first = async (path: string) => (await world.call<Row[]>(token, path)).body[0]!;
  const url = "https://l.example.com/?a=1";
  const made = await world.call<Row>(token, `/apps/${app.id}/log-drains`, { method: "POST", json: { url } });
  const objects = {
    app,
    addon: installed.addon,
    team: app.team!,
    attachment: await first("/apps/team-shop/addon-attachments"),
    drain: made.body,
    coupling: await get("/apps/team-shop/pipeline-couplings"),
    pipeline: await first("/pipelines"),
    user: (await first("/apps/team-shop/collaborators"))["user"] as object,
  };
  for (const [kind, object] of Object.entries(objects)) {
    for (const [member, value] of Object.entries(object)) known[`${kind} ${member}`] = String(value);
  }
  const users = await world.call<Row[]>(token, "/apps/team-shop/collaborators");
  const owner = users.body.map(({ user }) => user as Record<string, string>).find(isOwner)!;
  Object.assign(known, { "user id": owner["id"], "user email": owner["email"] });
  // So that the time of the answer differs from the time of the last change.
  world.control.advanceClock(100);
});
afterAll(async () => {
  letTimeGoOn();
  await world.close();
});

const isOwner = (user: Record<string, string>) => user["email"] === "owner@example.com";
const filled = (text: string, encode = (value: string) => value) =>
  text.replace(/\{([a-z ]+)\}/g, (_match, name: string) => encode(known[name]!));

function call(as: string, [method, path, , body]: Endpoint, headers: Record<string, string> = {}) {
  const json = body && (JSON.parse(filled(JSON.stringify(body))) as object);
  return world.call(as, filled(path, encodeURIComponent), { method, headers, ...(json && { json }) });
}

it.each(ENDPOINTS)("%s %s answers the object with the standard headers", async (...endpoint: Endpoint) => {
  const { status, headers, body } = await call(token, endpoint);
  expect(status).toBe(endpoint[0] === "POST" && endpoint[1].endsWith("log-drains") ? 201 : 200);
  expect(Array.isArray(body)).toBe(endpoint[2] === "many");
  const [method, path, , sent] = endpoint;
  const address = filled(path, encodeURIComponent);
  expect(sent ? description.request(method, address, JSON.parse(filled(JSON.stringify(sent)))) : []).toEqual(
    [],
  );
  expect(description.answer(method, address, status, body)).toEqual([]);
  expect([body].flat()).not.toHaveLength(0);
  expect(headers.get("etag")).toMatch(/^"[^"]+"$/);
  expect(headers.get("request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(Number(headers.get("ratelimit-remaining"))).toBeGreaterThan(4000);
  expect(Date.parse(headers.get("last-modified")!)).toBe(lastUpdate(body) ?? (await ownUpdate()));
});

/** The time of change of a config is that of its add-on. */
async function ownUpdate(): Promise<number> {
  const { body } = await world.call<Row>(token, filled("/addons/{addon id}"));
  return Date.parse(String(body["updated_at"]));
}

/** The time in the body of an answer; a config has none. */
function lastUpdate(body: unknown): number | undefined {
  const times = [body as Row | Row[]].flat().map((row) => Date.parse(String(row["updated_at"])));
  return Number.isNaN(times[0]) ? undefined : Math.max(...times);
}

const READ = ENDPOINTS.filter(([method]) => method === "GET").filter(([, path]) => !path.includes("drain "));

it("partner-api.yaml describes each of these calls, those to the token endpoint, and their refusals", async () => {
  const other = await aWorld({ legacyGrants: true });
  const take = (method: string, path: string, { status, body }: { status: number; body: unknown }) => {
    expect([path, status, description.answer(method, path, status, body)]).toEqual([path, status, []]);
    return status;
  };
  const { addon } = await other.control.install({ plan: "basic" });
  const statuses = [
    take("POST", "/oauth/token", await other.exchange("none")),
    take("POST", "/oauth/token", await other.exchange(other.lastCode(), "wrong")),
    take("POST", "/oauth/token", await other.exchange(other.lastCode())),
  ];
  other.partner.answers(({ body }) => ({
    status: 202,
    body: { id: (JSON.parse(body) as Row)["uuid"], message: "…" },
  }));
  const [done, failed] = [await other.installed(), await other.installed()];
  for (const [{ addon, token }, what] of [
    [done, "provision"],
    [failed, "deprovision"],
  ] as const) {
    const path = `/addons/${addon.id}/actions/${what}`;
    statuses.push(take("POST", path, await other.call(token, path, { method: "POST" })));
  }
  const refreshed = await other.refresh(done.refreshToken);
  const now = refreshed.body.access_token;
  statuses.push(
    take("POST", "/oauth/token", refreshed),
    take("GET", "/apps/none", await other.call(now, "/apps/none")),
    take("GET", "/apps", await other.call("SVCK-none", "/apps")),
    take("GET", "/apps", await other.call(now, "/apps", { headers: { range: "nonsense" } })),
  );
  const grant = `/vendor/resources/${addon.id}/oauth-grant`;
  const { addonId, addonPassword } = other.sandbox.settings;
  const authorization = `Basic ${Buffer.from(`${addonId}:${addonPassword}`).toString("base64")}`;
  const untyped = { authorization, accept: "application/json" };
  statuses.push(
    take("GET", grant, await other.call("", grant, { headers: { authorization } })),
    take("GET", grant, await other.call("", grant, { headers: untyped })),
  );
  expect(statuses).toEqual([400, 401, 200, 200, 200, 201, 404, 401, 416, 409, 406]);
  await other.close();
  expect([...description.seen].sort()).toEqual(description.operations().sort());
});

it.each(READ)(
  "%s %s answers 304 to its ETag, which counts for the rate limit",
  async (...endpoint: Endpoint) => {
    const resumeTime = stopTime();
    const first = await call(token, endpoint);
    const again = await call(token, endpoint, { "if-none-match": first.headers.get("etag")! });
    expect(again).toMatchObject({ status: 304, body: null });
    const remaining = [first, again].map(({ headers }) => Number(headers.get("ratelimit-remaining")));
    expect(remaining[1]).toBe(remaining[0]! - 1);
    resumeTime();
    // A date is too coarse to decide over it.
    const since = { "if-modified-since": new Date().toUTCString() };
    expect(await call(token, endpoint, since)).toMatchObject({ status: 200 });
  },
);

const OF_ONE = ENDPOINTS.filter(([, path]) => path.includes("{") && !path.startsWith("/users/{user"));

it.each(OF_ONE)("%s %s is forbidden to the token of another add-on", async (...endpoint: Endpoint) => {
  const answer = await call(stranger, endpoint);
  expect(answer).toMatchObject({ status: 403, body: { id: "forbidden", message: expect.any(String) } });
});

it.each(ENDPOINTS)(
  "%s %s requires a token, and the version in the Accept header",
  async (...endpoint: Endpoint) => {
    expect(await call("SVCK-unknown", endpoint)).toMatchObject({ status: 401, body: { id: "unauthorized" } });
    for (const accept of ["application/json", "application/vnd.svc+json; version=2"]) {
      const answer = await call(token, endpoint, { accept });
      expect(answer).toMatchObject({ status: 406, body: { id: "not_acceptable" } });
      const address = filled(endpoint[1], encodeURIComponent);
      expect(description.answer(endpoint[0], address, 406, answer.body)).toEqual([]);
      expect(answer.headers.get("ratelimit-remaining")).toMatch(/^\d+$/);
      expect(answer.headers.get("request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  },
);

it.each(["GET /account", "HEAD /account", "GET /account/", "GET /Account", "HEAD /oauth/authorizations"])(
  "%s is known, but outside an add-on's access",
  async (call) => {
    const [method, path] = call.split(" ") as [string, string];
    const { token } = await world.installed();
    expect((await world.call(token, path, { method })).status).toBe(403);
  },
);

it("an invalid token is refused as RFC 6750 says, and a missing one only requested", async () => {
  const wrong = await world.call("SVCK-none", "/apps");
  expect(wrong.headers.get("www-authenticate")).toBe('Bearer realm="platform", error="invalid_token"');
  const missing = await fetch(`${world.sandbox.url}/apps`);
  expect(missing.headers.get("www-authenticate")).toBe('Bearer realm="platform"');
});

describe("endpoints outside the partner's access", () => {
  it.each([
    ["GET", "/apps/{app id}/formation"],
    ["GET", "/apps/{app id}/releases"],
    ["GET", "/apps/{app name}/builds"],
    ["GET", "/apps/{app id}/config-vars"],
    ["PATCH", "/apps/{app id}"],
    ["DELETE", "/apps/{app id}"],
    ["POST", "/apps"],
    ["POST", "/apps/{app id}/domains"],
    ["DELETE", "/pipelines/{pipeline id}"],
    ["PUT", "/teams/{team name}/members"],
    ["GET", "/account"],
  ])("%s %s is forbidden", async (method, path) => {
    const answer = await call(token, [method, path, "one"]);
    expect(answer).toMatchObject({ status: 403, body: { id: "forbidden" } });
  });

  it.each([
    ["GET", "/nonsense"],
    ["GET", "/apps/{app id}/nonsense"],
    ["PUT", "/apps/{app id}"],
    ["DELETE", "/addons"],
    ["GET", "/filters/apps"],
    ["POST", "/addons/{addon id}/config"],
  ])("%s %s does not exist", async (method, path) => {
    const answer = await call(token, [method, path, "one"]);
    expect(answer).toMatchObject({ status: 404, body: { id: "not_found" } });
  });

  it("an enabled endpoint is open at once, for accessible apps only, until it is disabled", async () => {
    const path = "/apps/{app id}/formation";
    world.control.settings({ extraEndpoints: ["GET /apps/*/formation"] });
    expect(await call(token, ["GET", path, "many"])).toMatchObject({ status: 200, body: [] });
    expect(await call(stranger, ["GET", path, "many"])).toMatchObject({ status: 403 });
    expect(await call(token, ["PATCH", path, "many", {}])).toMatchObject({ status: 403 });
    world.control.settings({ extraEndpoints: [] });
    expect(await call(token, ["GET", path, "many"])).toMatchObject({ status: 403 });
  });
});

describe("unusual input", () => {
  it.each([
    ["a broken escape", "/addons/%zz", 400],
    ["half a character", "/apps/%E4", 400],
    ["a NUL", "/apps/%00", 404],
    ["a member of every object", "/apps/__proto__", 404],
    ["another one", "/apps/constructor/domains", 404],
    ["10 kB", `/apps/${"a".repeat(10_000)}`, 404],
    ["a way out", "/apps/..%2F..%2Fetc", 404],
    ["a blank", "/teams/%20/members", 404],
    ["twice self", "/users/~~/apps", 404],
  ])("%s in the path causes no error", async (_what, path, status) => {
    const answer = await world.call(token, path);
    expect(answer).toMatchObject({ status, body: { message: expect.any(String) } });
  });

  const json = { "content-type": "application/json" };
  it.each([
    ["no JSON", "{", json, 400],
    ["nothing", "", json, 422],
    ["no content type", "{}", { "content-type": "text/plain" }, 400],
    ["an array", "[]", json, 422],
    ["null", "null", json, 422],
    ["nothing asked for", "{}", json, 422],
    ["null for an object", '{"in":null}', json, 422],
    ["no ids", '{"in":{}}', json, 422],
    ["one id for many", `{"in":{"id":"01234567-89ab-cdef-0123-456789abcdef"}}`, json, 422],
    ["names for ids", '{"in":{"id":["team-shop"]}}', json, 422],
    ["numbers for ids", '{"in":{"id":[1]}}', json, 422],
  ])("a filter with %s is refused", async (_what, body, headers, status) => {
    const answer = await world.call(token, "/filters/apps", { method: "POST", body, headers });
    expect(answer).toMatchObject({
      status,
      body: { id: status === 400 ? "bad_request" : "invalid_params" },
    });
  });
});
