import { teamIdOf } from "../world/teams.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let token: string;
let app: string;
let spare: string;
let addon: string;
beforeEach(async () => {
  world = await aWorld();
  app = world.control.createApp({ name: "team-shop", team: "makers", pipeline: "shop" }).id;
  spare = world.control.createApp({
    name: "team-shop-staging",
    team: "makers",
    pipeline: "shop",
    stage: "staging",
  }).id;
  world.control.createApp({ name: "unseen", team: "makers", pipeline: "shop", stage: "development" });
  world.control.createApp({ name: "foreign-shop", team: "others" });
  const installed = await world.installed({ app });
  token = installed.token;
  addon = installed.addon.id;
  world.control.attach(addon, { app: spare, name: "SPARE" });
});
afterEach(() => world.close());

type Row = Record<string, unknown> & { id: string };
const get = (path: string) => world.call<Row[]>(token, path);
const column = async (path: string, member: string) =>
  (await get(path)).body.map((row) => row[member]).sort();

it("an app's collaborators, domains and pipeline are available, and those of its team", async () => {
  expect(await column(`/apps/${app}/collaborators`, "role")).toEqual(["admin", "member"]);
  expect(await column(`/apps/${app}/domains`, "kind")).toEqual(["custom", "platform"]);
  expect(await column("/teams/makers/members", "role")).toEqual(["admin", "member"]);
  expect(await column("/pipelines", "name")).toEqual(["shop"]);
  const coupling = await world.call<Row>(token, "/apps/team-shop/pipeline-couplings");
  expect(coupling.body).toMatchObject({ app: { id: app }, stage: "production" });
});

it("all endpoints agree about the same object", async () => {
  const teamApp = await world.call<Record<string, Row>>(token, `/apps/${app}`);
  const members = (await get("/teams/makers/members")).body.map(({ user }) => (user as Row).id).sort();
  const people = (await get(`/apps/${app}/collaborators`)).body.map(({ user }) => (user as Row).id).sort();
  expect(people).toEqual(members);
  expect(teamApp.body["organization"]).toEqual(teamApp.body["team"]);
  const [pipeline] = (await get("/pipelines")).body;
  expect(pipeline!["owner"]).toEqual({ id: teamApp.body["team"]!.id, type: "team" });
  expect(pipeline!["generation"]).toEqual(teamApp.body["generation"]);
  const own = await world.call<Record<string, unknown>>(token, `/addons/${addon}`);
  expect(own.body["billing_entity"]).toMatchObject({ ...teamApp.body["team"], type: "team" });
  expect(own.body["config_vars"]).toEqual(await column(`/addons/${addon}/config`, "name"));
  const domains = await column(`/apps/${app}/domains`, "hostname");
  expect(domains).toContain(new URL(String(teamApp.body["web_url"])).hostname);
  expect(await column(`/addons/${addon}/addon-attachments`, "name")).toEqual(["SPARE", "WIDGETS"]);
});

it("renaming an app changes its name everywhere, and keeps its id", async () => {
  const paths = [
    `/addons/${addon}`,
    `/addons/${addon}/addon-attachments`,
    `/apps/${app}`,
    `/apps/${app}/addons`,
    `/apps/${app}/addon-attachments`,
    `/apps/${app}/collaborators`,
    `/apps/${app}/domains`,
    `/apps/${app}/log-drains`,
  ];
  const url = "https://logs.example.com";
  await world.call(token, `/apps/${app}/log-drains`, { method: "POST", json: { url } });
  const whole = () => Promise.all(paths.map(async (path) => JSON.stringify(await get(path))));
  const before = await whole();
  const tag = (await get(`/addons/${addon}`)).headers.get("etag")!;
  world.control.renameApp("team-shop", "new-shop");
  const after = await whole();
  expect(before.map((text) => text.includes('"name":"team-shop"'))).not.toContain(false);
  expect(after.map((text) => text.includes('"name":"new-shop"'))).not.toContain(false);
  expect(after.filter((text) => text.includes('"name":"team-shop"'))).toEqual([]);
  expect((await world.call(token, `/addons/${addon}`, { headers: { "if-none-match": tag } })).status).toBe(
    200,
  );
  expect((await get("/apps/team-shop")).status).toBe(404);
  expect((await get("/apps/new-shop")).body).toMatchObject({ id: app });
});

it("a name that was given up can be used again, one in use cannot", () => {
  const rename = (name: string) => () => world.control.renameApp(app, name);
  expect(rename("foreign-shop")).toThrow(expect.objectContaining({ status: 409 }));
  for (const bad of ["No", "ab", "-shop", "shop-", "a".repeat(31), ""]) {
    expect(rename(bad)).toThrow(expect.objectContaining({ status: 422 }));
  }
  expect(rename("team-shop")()).toMatchObject({ name: "team-shop" });
  rename("other-shop")();
  expect(world.control.createApp({ name: "team-shop" })).toMatchObject({ name: "team-shop" });
});

it.each([
  ["a stage that does not exist", { stage: "live" }, 422],
  ["a pipeline of another owner", { pipeline: "shop" }, 422],
  ["a pipeline of the other generation", { pipeline: "shop", team: "makers", generation: "newer" }, 422],
  ["no name for a pipeline", { pipeline: "No" }, 422],
  ["no name for a team", { team: "" }, 422],
  ["the id of a team in place of its name", { team: teamIdOf("makers") }, 422],
  ["a generation that does not exist", { generation: "next" }, 422],
  ["a name that is taken", { name: "team-shop", team: "newcomers" }, 409],
])("an app with %s is refused, and nothing is created", (_what, wish, status) => {
  const before = JSON.stringify(world.control.state().apps);
  expect(() => world.control.createApp(wish)).toThrow(expect.objectContaining({ status }));
  expect(JSON.stringify(world.control.state().apps)).toBe(before);
});

it.each([
  "/pipelines/foreign-shop",
  "/teams/others/members",
  "/apps/foreign-shop/collaborators",
  "/apps/unseen",
  "/apps/unseen/pipeline-couplings",
])("the objects of an app out of reach are forbidden: %s", async (path) => {
  expect(await get(path)).toMatchObject({ status: 403 });
});

it("POST /filters/apps selects by id, in the shape of a team's app", async () => {
  const ids = { in: { id: [app, addon, app.toUpperCase()] } };
  const { status, body } = await world.call<Row[]>(token, "/filters/apps", { method: "POST", json: ids });
  expect(status).toBe(200);
  expect(body).toMatchObject([{ id: app, joined: true, locked: false, team: { name: "makers" } }]);
});
