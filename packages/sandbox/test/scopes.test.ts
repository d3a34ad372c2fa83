import { aClient } from "./web-flow.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let monitor: ReturnType<typeof aClient>;
let app: { id: string };
let addon: { id: string };
beforeAll(async () => {
  world = await aWorld();
  monitor = aClient(world.sandbox);
  app = world.control.createApp({ name: "my-shop" });
  addon = (await world.installed({ app: app.id })).addon;
});
afterAll(() => world.close());

const all = ["global", "identity", "read", "write", "read-protected", "write-protected"];
const readers = ["global", "read", "write", "read-protected", "write-protected"];
const config = { json: { GREETING: "hello" } };

/** The scopes that allow each call, by the section "Scopes" of the platform document. */
const calls: [call: string, open: string[], init?: { json?: unknown }][] = [
  ["GET /account", ["global", "identity"]],
  ["GET /apps", readers],
  ["GET /apps/my-shop", readers],
  ["GET /users/~/apps", readers],
  ["POST /filters/apps", readers, { json: { in: { id: [] } } }],
  ["GET /apps/my-shop/addons", readers],
  ["GET /addons", readers],
  ["GET /apps/my-shop/addon-attachments", readers],
  ["GET /apps/my-shop/collaborators", readers],
  ["GET /apps/my-shop/domains", readers],
  ["GET /apps/my-shop/log-drains", readers],
  ["GET /apps/my-shop/pipeline-couplings", readers],
  ["GET /pipelines", readers],
  ["POST /apps/my-shop/log-drains", ["global", "write", "write-protected"]],
  ["GET /apps/my-shop/config-vars", ["global", "read-protected", "write-protected"]],
  ["PATCH /apps/my-shop/config-vars", ["global", "write-protected"], config],
  ["GET /oauth/authorizations", ["global"]],
  ["GET /oauth/clients", ["global"]],
];

it.each(calls)("%s requires one of the scopes %j", async (call, open, init = {}) => {
  const [method = "", path = ""] = call.split(" ");
  for (const scope of all) {
    const { access_token } = await monitor.tokens({ scope });
    const fresh = call.endsWith("log-drains") && method === "POST";
    const json = fresh ? { url: `https://logs.example.com/${scope}` } : init.json;
    const { status, body } = await world.call<{ id?: string }>(access_token, path, { method, json });
    const expected = open.includes(scope) ? (fresh ? 201 : 200) : 403;
    expect([scope, status]).toEqual([scope, expected]);
    if (expected === 403) expect(body.id).toBe("forbidden");
  }
});

it("a refusal for a missing scope names the sufficient ones, as RFC 6750 says", async () => {
  const { token } = world.control.userToken("owner@example.com", { scope: ["identity"] });
  const { status, headers } = await world.call(token, "/apps");
  expect(status).toBe(403);
  expect(headers.get("www-authenticate")).toMatch(
    /^Bearer .*error="insufficient_scope", scope="global read /,
  );
  // It is read-only.
  expect(await world.call(token, "/account", { method: "PATCH", json: {} })).toMatchObject({ status: 403 });
});

it("an add-on's config is protected, and only its partner changes it", async () => {
  const path = `/addons/${addon.id}/config`;
  const tokenOf = async (scope: string) => (await monitor.tokens({ scope })).access_token;
  expect(await world.call(await tokenOf("read"), path)).toMatchObject({ status: 403 });
  const token = await tokenOf("global");
  expect(await world.call(token, path)).toMatchObject({ status: 200, body: [{ name: "WIDGET_URL" }] });
  const patch = { method: "PATCH", json: { config: [] } };
  expect(await world.call(token, path, patch)).toMatchObject({ status: 403 });
  const action = await world.call(token, `/addons/${addon.id}/actions/deprovision`, { method: "POST" });
  expect(action).toMatchObject({ status: 403 });
});

describe("/apps/:id/config-vars", () => {
  const path = "/apps/my-shop/config-vars";
  const patch = (json: object) =>
    world.call(world.control.userToken().token, path, { method: "PATCH", json });

  it("contains the app's own vars and those of its add-ons; a PATCH merges by name, null removes", async () => {
    expect(await patch({ MODE: "fast", GREETING: null })).toMatchObject({ status: 200 });
    const { body } = await world.call(world.control.userToken().token, path);
    expect(body).toEqual({ MODE: "fast", WIDGET_URL: "https://w.example.com" });
    expect(world.control.configVars("my-shop")).toEqual(body);
  });

  it("is outside a partner's access", async () => {
    const { token } = await world.installed({ app: app.id });
    for (const call of [path, "/account"]) {
      expect(await world.call(token, call)).toMatchObject({ status: 403, body: { id: "forbidden" } });
    }
  });
});

describe("the access of a user's token", () => {
  const tokenOf = (user: string) => world.control.userToken(user).token;
  const names = async (token: string, path: string) =>
    (await world.call<{ name: string }[]>(token, path)).body.map(({ name }) => name).sort();

  it("is to the apps they own, collaborate on, or have through a team", async () => {
    world.control.createApp({ name: "team-shop", team: "makers" });
    for (const user of ["owner@example.com", "colleague@example.com"]) {
      for (const path of ["/apps", "/users/~/apps"])
        expect(await names(tokenOf(user), path)).toEqual(["my-shop", "team-shop"]);
    }
    const newcomer = tokenOf("newcomer@example.com");
    expect(await names(newcomer, "/apps")).toEqual([]);
    for (const path of ["/apps/my-shop", "/apps/team-shop/domains", `/addons/${addon.id}`]) {
      expect(await world.call(newcomer, path)).toMatchObject({ status: 403 });
    }
  });

  it("is to every add-on of an app, where a partner sees its own", async () => {
    const user = tokenOf("owner@example.com");
    const all = await world.call<{ id: string }[]>(user, "/apps/my-shop/addons");
    expect(all.body.length).toBeGreaterThan(1);
    expect(await world.call(user, `/addons/${addon.id}`)).toMatchObject({ status: 200 });
  });

  it("allows deleting their own log drains, not those of an add-on", async () => {
    const { token } = await world.installed({ app: app.id });
    const user = tokenOf("owner@example.com");
    const add = async (by: string, url: string) =>
      (
        await world.call<{ id: string; addon: object | null }>(by, "/apps/my-shop/log-drains", {
          method: "POST",
          json: { url },
        })
      ).body;
    const theirs = await add(token, "https://logs.example.com/addon");
    const own = await add(user, "https://logs.example.com/own");
    expect(own.addon).toBeNull();
    const remove = (id: string) => world.call(user, `/apps/my-shop/log-drains/${id}`, { method: "DELETE" });
    expect(await remove(theirs.id)).toMatchObject({ status: 403 });
    expect(await remove(own.id)).toMatchObject({ status: 200 });
  });
});

describe("a team that has turned off third-party OAuth", () => {
  beforeAll(() => {
    world.control.createApp({ name: "closed-shop", team: "closed" });
    world.control.settings({ thirdPartyOAuth: false });
  });
  afterAll(() => void world.control.settings({ thirdPartyOAuth: true }));
  const path = "/apps/closed-shop";
  const refused = {
    status: 403,
    body: { message: expect.stringMatching(/turned off third-party OAuth/) as string },
  };

  it("excludes clients' tokens from its apps, while people can still sign in", async () => {
    const { access_token, refresh_token } = await monitor.tokens();
    expect(await world.call(access_token, path)).toMatchObject(refused);
    expect(await world.call(access_token, `${path}/config-vars`)).toMatchObject(refused);
    const { body } = await world.call<{ name: string }[]>(access_token, "/apps");
    expect(body.map(({ name }) => name)).toEqual(["my-shop"]);
    expect(await world.call(access_token, "/account")).toMatchObject({ status: 200 });
    expect(await monitor.refresh(refresh_token)).toMatchObject({ status: 201 });
  });

  it("does not restrict users' own tokens, but those that a client makes for itself", async () => {
    expect(await world.call(world.control.userToken().token, path)).toMatchObject({ status: 200 });
    const make = async (by: string) => {
      const init = { method: "POST", json: { scope: ["global"] } };
      const made = await world.call<{ access_token: { token: string } }>(by, "/oauth/authorizations", init);
      return made.body.access_token.token;
    };
    const { access_token } = await monitor.tokens();
    expect(await world.call(await make(access_token), path)).toMatchObject(refused);
    expect(await world.call(await make(world.control.userToken().token), path)).toMatchObject({
      status: 200,
    });
  });
});
