import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let token: string;
let app: string;
let addon: string;
beforeAll(async () => {
  world = await aWorld();
  app = world.control.createApp({ name: "team-shop", team: "makers" }).id;
  world.control.createApp({ name: "foreign-shop", team: "others" });
  const installed = await world.installed({ app });
  token = installed.token;
  addon = installed.addon.id;
});
afterAll(() => world.close());

type Row = Record<string, unknown> & { id: string };
const get = (path: string) => world.call<Row[]>(token, path);

it("An app's surroundings hang together: people, domains, a pipeline, a team", async () => {
  expect((await get(`/apps/${app}/collaborators`)).body).toHaveLength(2);
  expect((await get(`/apps/${app}/domains`)).body.map(({ kind }) => kind).sort()).toEqual([
    "custom",
    "platform",
  ]);
  const coupling = await world.call<Row>(token, `/apps/team-shop/pipeline-couplings`);
  expect(coupling.body).toMatchObject({ app: { id: app }, stage: "production" });
  const { id: pipeline } = coupling.body["pipeline"] as Row;
  expect((await get("/pipelines")).body.map(({ id }) => id)).toEqual([pipeline]);
  expect(await get(`/pipelines/${pipeline}`)).toMatchObject({ status: 200, body: { name: "team-shop" } });
  for (const path of [`/pipelines/${pipeline}/pipeline-couplings`, "/pipeline-couplings"]) {
    expect((await get(path)).body).toEqual([coupling.body]);
  }
  expect((await get(`/pipeline-couplings/${coupling.body.id}`)).body).toEqual(coupling.body);
  expect((await get("/teams/makers/members")).body.map(({ role }) => role).sort()).toEqual([
    "admin",
    "member",
  ]);
});

it.each(["/pipelines/foreign-shop", "/teams/others/members", "/apps/foreign-shop/collaborators"])(
  "What belongs to an app out of reach is not found: %s",
  async (path) => {
    expect(await get(path)).toMatchObject({ status: 404 });
  },
);

it("Apps are filtered by id, in the shape of a team's app", async () => {
  const filter = (id: unknown) =>
    world.call<Row[]>(token, "/filters/apps", { method: "POST", json: { in: { id } } });
  const { status, body } = await filter([app, addon]);
  expect(status).toBe(200);
  expect(body).toMatchObject([{ id: app, joined: true, locked: false, team: { name: "makers" } }]);
  expect(body[0]).not.toHaveProperty("acm");
  expect(await filter("all")).toMatchObject({ status: 422 });
});

it("A log drain is made, found by id, URL or token, changed and taken away", async () => {
  const json = { url: "syslog+tls://logs.example.com:6514/a?b=c" };
  const made = await world.call<Row>(token, `/apps/${app}/log-drains`, { method: "POST", json });
  expect(made).toMatchObject({ status: 201, body: { ...json, addon: { id: addon }, app: { id: app } } });
  expect(await world.call(token, `/apps/${app}/log-drains`, { method: "POST", json })).toMatchObject({
    status: 409,
  });
  for (const key of [made.body.id, json.url, made.body["token"] as string]) {
    const found = await world.call(token, `/apps/${app}/log-drains/${encodeURIComponent(key)}`);
    expect(found).toMatchObject({ status: 200, body: { id: made.body.id } });
  }
  const changed = await world.call(token, `/addons/${addon}/log-drains/${encodeURIComponent(json.url)}`, {
    method: "PUT",
    json: { url: "https://logs.example.com/new" },
  });
  expect(changed).toMatchObject({
    status: 200,
    body: { id: made.body.id, url: "https://logs.example.com/new" },
  });
  expect((await get(`/addons/${addon}/log-drains`)).body).toHaveLength(1);
  const path = `/apps/${app}/log-drains/${made.body.id}`;
  expect(await world.call(token, path, { method: "DELETE" })).toMatchObject({ status: 200 });
  expect(await get(path)).toMatchObject({ status: 404 });
});

it("Log drains are refused for apps of the newer generation", async () => {
  const newer = world.control.createApp({ generation: "newer" });
  const { token: newerToken } = await world.installed({ app: newer.id });
  expect(await world.call(newerToken, `/apps/${newer.id}/log-drains`)).toMatchObject({ status: 422 });
});
