import { aWorld, manifest, stopTime, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

type Named = { id: string; name: string };

describe("the access of an add-on's token", () => {
  it("is to its own add-on, by id or name, and to no other", async () => {
    const mine = await world.installed();
    const other = await world.installed();
    for (const key of [mine.addon.id, mine.addon.name]) {
      expect(await world.call(mine.token, `/addons/${key}`)).toMatchObject({
        status: 200,
        body: { id: mine.addon.id },
      });
    }
    for (const path of ["", "/config", "/addon-attachments"]) {
      expect(await world.call(mine.token, `/addons/${other.addon.id}${path}`)).toMatchObject({
        status: 403,
        body: { id: "forbidden" },
      });
    }
    expect(await world.call(mine.token, "/addons/unknown")).toMatchObject({
      status: 404,
      body: { id: "not_found" },
    });
  });

  it("shows only its own add-on in every list", async () => {
    const { addon, token } = await world.installed();
    await world.installed({ app: addon.app.id });
    for (const path of ["/addons", "/users/~/addons", `/apps/${addon.app.name}/addons`]) {
      const { body } = await world.call<Named[]>(token, path);
      expect(body.map(({ id }) => id)).toEqual([addon.id]);
    }
  });

  it("is to the apps that the add-on is attached to", async () => {
    const { addon, token } = await world.installed();
    const second = world.control.createApp({ name: "second-app" });
    expect(await world.call(token, "/apps/second-app")).toMatchObject({ status: 403 });
    world.control.attach(addon.id, { app: second.id, name: "SPARE" });
    expect(await world.call(token, "/apps/second-app")).toMatchObject({
      status: 200,
      body: { id: second.id },
    });
    expect((await world.call<Named[]>(token, "/apps")).body).toHaveLength(2);
    expect((await world.call<Named[]>(token, "/users/~/apps")).body).toHaveLength(2);
    const attachment = await world.call(token, "/apps/second-app/addon-attachments/SPARE");
    expect(attachment).toMatchObject({
      status: 200,
      body: { name: "SPARE", addon: { id: addon.id, app: addon.app } },
    });
    expect(await world.call(token, "/apps/unknown")).toMatchObject({ status: 404 });
  });

  it("excludes a team's apps when the team has turned off third-party access", async () => {
    const app = world.control.createApp({ team: "makers" });
    const { token } = await world.installed({ app: app.id });
    expect(await world.call(token, `/apps/${app.id}`)).toMatchObject({
      status: 200,
      body: { team: { name: "makers" } },
    });
    world.control.settings({ thirdPartyOAuth: false });
    expect(await world.call(token, `/apps/${app.id}`)).toMatchObject({ status: 403 });
  });

  it("includes its own add-on until that is deprovisioned, also after its app was destroyed", async () => {
    const { addon, token } = await world.installed();
    world.partner.answers({ status: 500, body: {} });
    await world.control.destroyApp(addon.app.id);
    expect(await world.call(token, `/addons/${addon.id}`)).toMatchObject({ status: 200 });
    expect(await world.call(token, "/addons")).toMatchObject({ status: 200, body: [{ id: addon.id }] });
  });
});

describe("conventions of the API", () => {
  it("refuses any Accept header but the version's", async () => {
    const { token } = await world.installed();
    for (const accept of [
      "*/*",
      "application/json",
      "application/vnd.svc+json; version=2",
      "application/vnd.svc+json; version=30",
      "application/vnd.svc+json",
    ]) {
      const answer = await world.call(token, "/addons", { headers: { accept } });
      expect(answer).toMatchObject({ status: 406, body: { id: "not_acceptable" } });
    }
  });
});

describe("the rate limit of a token", () => {
  let letTimeGoOn: () => void;
  beforeEach(() => void (letTimeGoOn = stopTime()));
  afterEach(() => letTimeGoOn());

  it("answers 429 when its bucket is empty, and refills it by 75 a minute", async () => {
    world.control.settings({ rateLimit: 3 });
    const { token } = await world.installed();
    const other = await world.installed();
    const remaining = async () => (await world.call(token, "/addons")).headers.get("ratelimit-remaining");
    expect([await remaining(), await remaining(), await remaining()]).toEqual(["2", "1", "0"]);
    expect(await world.call(token, "/addons")).toMatchObject({ status: 429, body: { id: "rate_limit" } });
    expect(await world.call(other.token, "/addons")).toMatchObject({ status: 200 });
    world.control.advanceClock(0.81);
    expect(await world.call(token, "/addons")).toMatchObject({ status: 200 });
    expect(await world.call(token, "/addons")).toMatchObject({ status: 429 });
    world.control.advanceClock(3600);
    expect(await remaining()).toBe("2");
  });

  it("has a bucket of 4500, which a refresh does not fill; refused calls count too", async () => {
    const { token, refreshToken } = await world.installed();
    const remaining = (answer: { headers: Headers }) => answer.headers.get("ratelimit-remaining");
    const bodyless = { method: "PATCH", json: {} };
    expect(remaining(await world.call(token, "/nonsense"))).toBe("4499");
    expect(remaining(await world.call(token, "/apps/unknown"))).toBe("4498");
    expect(remaining(await world.call(token, "/addons", { headers: { accept: "*/*" } }))).toBe("4497");
    expect(remaining(await world.call(token, "/addons/unknown/config", bodyless))).toBe("4496");
    const { body } = await world.refresh(refreshToken);
    expect(remaining(await world.call(body.access_token, "/addons"))).toBe("4495");
    expect(remaining(await world.call("SVCK-unknown", "/addons"))).toMatch(/^\d+$/);
  });
});

describe("an add-on's config", () => {
  const patch = (token: string, id: string, config: unknown) =>
    world.call(token, `/addons/${id}/config`, { method: "PATCH", json: { config } });

  it("is at first that of the provision answer", async () => {
    const { addon, token } = await world.installed();
    const { body } = await world.call(token, `/addons/${addon.id}/config`);
    expect(body).toEqual([{ name: "WIDGET_URL", value: "https://w.example.com" }]);
    expect(world.control.configVars(addon.app.id)).toEqual({ WIDGET_URL: "https://w.example.com" });
  });

  it("is merged by name, and null removes", async () => {
    const { addon, token } = await world.installed();
    const added = await patch(token, addon.id, [{ name: "WIDGET_TOKEN", value: "t" }]);
    expect(added.body).toEqual([
      { name: "WIDGET_URL", value: "https://w.example.com" },
      { name: "WIDGET_TOKEN", value: "t" },
    ]);
    const removed = await patch(token, addon.id, [{ name: "WIDGET_URL", value: null }]);
    expect(removed.body).toEqual([{ name: "WIDGET_TOKEN", value: "t" }]);
    const { updated_at } = world.control.addon(addon.id);
    world.control.advanceClock(60);
    await patch(token, addon.id, [{ name: "constructor", value: null }]);
    expect(world.control.addon(addon.id)).toMatchObject({ updated_at });
  });

  it("changes completely or not at all", async () => {
    const { addon, token } = await world.installed();
    const good = { name: "WIDGET_TOKEN", value: "t" };
    for (const bad of [
      { name: "UNDECLARED", value: "x" },
      { name: "WIDGET_URL", value: 1 },
      { name: "WIDGET_URL" },
      { name: "__proto__", value: "x" },
      { name: ["WIDGET_URL"], value: "x" },
      { name: "", value: "x" },
      { value: "x" },
      "WIDGET_URL=x",
      null,
      good,
    ]) {
      expect(await patch(token, addon.id, [good, bad])).toMatchObject({
        status: 422,
        body: { id: "invalid_params" },
      });
    }
    for (const config of [undefined, null, "x", { WIDGET_URL: "x" }]) {
      expect(await patch(token, addon.id, config)).toMatchObject({ status: 422 });
    }
    expect((await world.call(token, `/addons/${addon.id}/config`)).body).toHaveLength(1);
  });

  it("must use the prefix of the add-on's manifest", async () => {
    const { addon, token } = await world.installed();
    const { config_vars: _any, ...unlisted } = manifest;
    world.control.partner({ addonManifest: { ...unlisted, config_vars_prefix: "WIDGET" } });
    const named = (name: string) => patch(token, addon.id, [{ name, value: "x" }]);
    expect([(await named("WIDGET_NEW")).status, (await named("GADGET_NEW")).status]).toEqual([200, 422]);
  });
});

describe("asynchronous provisioning", () => {
  beforeEach(() => world.partner.answers({ status: 202, body: { id: "p-1", message: "Soon." } }));

  it("ends with actions/provision, once", async () => {
    const { addon, token } = await world.installed();
    expect(addon).toMatchObject({ state: "provisioning", provider_id: "p-1", provision_message: "Soon." });
    const act = () => world.call(token, `/addons/${addon.id}/actions/provision`, { method: "POST" });
    const done = await act();
    expect(done).toMatchObject({ status: 200, body: { state: "provisioned" } });
    expect(done.body).not.toHaveProperty("provision_message");
    expect(await act()).toMatchObject({ status: 422 });
  });

  it("ends with actions/deprovision when the partner gives up", async () => {
    const { addon, token } = await world.installed();
    const answer = await world.call(token, `/addons/${addon.id}/actions/deprovision`, { method: "POST" });
    expect(answer).toMatchObject({ status: 200, body: { state: "deprovisioned" } });
    expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
  });
});
