import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeAll(async () => void (world = await aWorld()));
afterAll(() => world.close());

async function control<Body = Record<string, unknown>>(method: string, path: string, json?: object) {
  const response = await fetch(`${world.sandbox.url}/sandbox${path}`, {
    method,
    ...(json && { body: JSON.stringify(json), headers: { "content-type": "application/json" } }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

const wish = { name: "Monitor", redirect_uri: "https://monitor.example.com/callback" };

it("the control API registers a client, completes the authorize page for a user, and lists clients without secrets", async () => {
  const { status, body } = await control<{ id: string; secret: string }>("POST", "/clients", wish);
  expect([status, body]).toMatchObject([
    201,
    { ...wish, secret: expect.stringMatching(/^\w{64}$/) as string },
  ]);
  const url = `${world.sandbox.url}/oauth/authorize?client_id=${body.id}&response_type=code&state=s`;
  const walk = (more: object) => control<{ location: string }>("POST", "/authorize", { url, ...more });
  const allowed = await walk({ user: "new@example.com" });
  const code = new URL(allowed.body.location).searchParams.get("code")!;
  const { body: tokens } = await world.exchange(code, body.secret);
  expect(await world.call(tokens.access_token, "/account")).toMatchObject({
    body: { email: "new@example.com" },
  });
  expect((await walk({ allow: false })).body.location).toMatch(/\?error=access_denied.*&state=s$/);
  const { body: state } = await control<{ clients: object[] }>("GET", "/state");
  expect(state.clients).toContainEqual({ id: body.id, ...wish });
  expect(JSON.stringify(state)).not.toContain(body.secret);
});

it("the control API issues a user's token, by e-mail or id, with scopes and without the prefix on request", async () => {
  const tokenOf = async (user: string, json?: object) =>
    (await control<{ token: string }>("POST", `/users/${user}/token`, json)).body.token;
  const token = await tokenOf("colleague@example.com");
  expect(token).toMatch(/^SVCK-.{60}$/);
  const { body } = await world.call<{ id: string }>(token, "/account");
  const narrow = await tokenOf(body.id, { scope: ["identity"], prefix: false });
  expect(narrow).not.toMatch(/^SVCK-/);
  expect(await world.call(narrow, "/account")).toMatchObject({ status: 200, body: { id: body.id } });
  expect(await world.call(narrow, "/apps")).toMatchObject({ status: 403 });
  world.control.advanceClock(8 * 3600);
  expect(await world.call(token, "/account")).toMatchObject({ status: 401 });
});

it.each<[string, object | undefined, number]>([
  ["/clients", { name: "Monitor" }, 422],
  ["/clients", { ...wish, redirect_uri: "nowhere" }, 422],
  ["/clients", { ...wish, name: 5 }, 422],
  ["/users/nobody/token", undefined, 404],
  ["/users/@/token", undefined, 422],
  ["/users/owner@example.com/token", { scope: "global" }, 422],
  ["/users/owner@example.com/token", { scope: ["everything"] }, 422],
  ["/users/owner@example.com/token", { prefix: "no" }, 422],
  ["/authorize", {}, 422],
  ["/authorize", { url: "/oauth/authorize?client_id=nobody" }, 400],
  ["/authorize", { url: "/oauth/authorize", allow: "no" }, 422],
])("the control API says what is wrong with POST %s %j", async (path, json, status) => {
  const answer = await control("POST", path, json);
  expect(answer).toMatchObject({ status, body: { message: expect.any(String) as string } });
});

it("a reset removes clients and users' tokens", async () => {
  await control("POST", "/clients", wish);
  const { token } = world.control.userToken();
  await control("POST", "/reset");
  expect(world.control.state().clients).toHaveLength(1);
  expect(world.control.state().users).toEqual([]);
  expect(await world.call(token, "/account")).toMatchObject({ status: 401 });
});
