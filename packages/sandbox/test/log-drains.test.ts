import { aWorld, type TestWorld } from "./world.ts";

type Drain = { id: string; url: string; token: string; addon: { id: string }; app: { id: string } };

let world: TestWorld;
let token: string;
let addon: string;
let app: string;
beforeEach(async () => {
  world = await aWorld();
  app = world.control.createApp({ name: "shop" }).id;
  const installed = await world.installed({ app });
  token = installed.token;
  addon = installed.addon.id;
});
afterEach(() => world.close());

const URL_OF_LOGS = "https://user:pass@logs.example.com:8443/in?t=1&u=%C3%A4#x";
const create = (url: unknown, of = app) =>
  world.call<Drain>(token, `/apps/${of}/log-drains`, { method: "POST", json: { url } });
const update = (key: string, url: unknown) =>
  world.call<Drain>(token, `/addons/${addon}/log-drains/${encodeURIComponent(key)}`, {
    method: "PUT",
    json: { url },
  });
const listed = async (path: string) => (await world.call<Drain[]>(token, path)).body;

it("a drain is found by id, token and URL, changed, and deleted", async () => {
  const made = await create(URL_OF_LOGS);
  expect(made).toMatchObject({ status: 201, body: { url: URL_OF_LOGS, app: { id: app, name: "shop" } } });
  for (const key of [made.body.id, made.body.id.toUpperCase(), made.body.token, made.body.url]) {
    const path = `/apps/shop/log-drains/${encodeURIComponent(key)}`;
    expect((await world.call(token, path)).body).toEqual(made.body);
  }
  world.control.advanceClock(60);
  const changed = await update(URL_OF_LOGS, "syslog://logs.example.com:514");
  expect(changed.body).toMatchObject({ ...made.body, url: changed.body.url, updated_at: expect.any(String) });
  expect(changed.body).not.toMatchObject({
    updated_at: (made.body as object as Record<string, string>)["updated_at"],
  });
  expect(await listed("/apps/shop/log-drains")).toEqual([changed.body]);
  expect(await listed(`/addons/${addon}/log-drains`)).toEqual([changed.body]);
  expect((await update(URL_OF_LOGS, URL_OF_LOGS)).status).toBe(404);
  const gone = await world.call(token, `/apps/shop/log-drains/${made.body.token}`, { method: "DELETE" });
  expect(gone).toMatchObject({ status: 200, body: changed.body });
  expect(await listed(`/addons/${addon}/log-drains`)).toEqual([]);
});

it.each([
  [undefined],
  [null],
  [5],
  [""],
  ["logs.example.com"],
  ["ftp://logs.example.com"],
  ["javascript:alert(1)"],
  ["https://"],
  ["syslog:///path"],
  ["https://logs.example.com/a b"],
  ["https://logs.example.com/\u0000"],
  [`https://logs.example.com/${"a".repeat(2048)}`],
])("a drain's URL cannot be %p", async (url) => {
  const made = await create(URL_OF_LOGS);
  const refusal = { status: 422, body: { id: "invalid_params" } };
  expect(await create(url)).toMatchObject(refusal);
  expect(await update(made.body.id, url)).toMatchObject(refusal);
  expect(await listed("/apps/shop/log-drains")).toEqual([made.body]);
});

it("drains of another add-on on the same app are not visible", async () => {
  const made = await create(URL_OF_LOGS);
  const { token: stranger, addon: theirs } = await world.installed({ app });
  const path = `/apps/shop/log-drains/${made.body.id}`;
  expect((await world.call(stranger, "/apps/shop/log-drains")).body).toEqual([]);
  for (const method of ["GET", "DELETE"]) {
    expect(await world.call(stranger, path, { method })).toMatchObject({ status: 404 });
  }
  const put = { method: "PUT", json: { url: "https://theirs.example.com" } };
  const answer = await world.call(stranger, `/addons/${theirs.id}/log-drains/${made.body.id}`, put);
  expect(answer).toMatchObject({ status: 404 });
});

it("the drain of a provision answer belongs to the add-on, and ends with it", async () => {
  const body = { id: "p", log_drain_url: URL_OF_LOGS };
  world.partner.answers({ status: 200, body });
  const { addon: own, token: ownToken } = await world.installed({ app });
  const { body: drains } = await world.call<Drain[]>(ownToken, `/addons/${own.id}/log-drains`);
  expect(drains).toMatchObject([{ url: URL_OF_LOGS, addon: { id: own.id }, app: { id: app } }]);
  expect((await create(URL_OF_LOGS)).status).toBe(409);
  world.partner.answers({ status: 204 });
  await world.control.deprovision(own.id);
  expect((await create(URL_OF_LOGS)).status).toBe(201);
});

it("apps of the newer generation have no drains, and the refusal says why", async () => {
  world.partner.answers({ status: 200, body: { id: "p", log_drain_url: URL_OF_LOGS } });
  const newer = world.control.createApp({ generation: "newer" });
  const installed = await world.installed({ app: newer.id });
  const { entries } = world.control.ledger();
  const provision = entries.findLast(({ direction }) => direction === "out");
  expect(provision?.complaints?.join()).toContain("newer generation");
  token = installed.token;
  const drains = [`/apps/${newer.id}/log-drains`, `/addons/${installed.addon.id}/log-drains`];
  for (const path of [...drains, `${drains[0]}/d.1`]) {
    const answer = await world.call<{ message: string }>(token, path);
    expect(answer).toMatchObject({ status: 422, body: { id: "invalid_params" } });
    expect(answer.body.message).toContain("generation");
  }
  expect((await create(URL_OF_LOGS, newer.id)).status).toBe(422);
  const remove = await world.call(token, `${drains[0]}/d.1`, { method: "DELETE" });
  expect(remove.status).toBe(422);
});
