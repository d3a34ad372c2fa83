import { aWorld, manifest, type TestWorld } from "./world.ts";

// An app names an add-on's config vars after the attachment (assumed, section 5).

const prefixed = { ...manifest, config_vars_prefix: "WIDGET" };
const config = { WIDGET_URL: "https://w.example", WIDGET_TOKEN: "t" };
const renamed = { EVENTS_URL: "https://w.example", EVENTS_TOKEN: "t" };

let world: TestWorld;
afterEach(() => world.close());

async function aShop(addonManifest: Partial<typeof prefixed> = prefixed) {
  world = await aWorld({ addonManifest: addonManifest as typeof prefixed });
  world.partner.answers({ status: 200, body: { id: "w", config } });
  const app = world.control.createApp({ name: "shop" }).id;
  const set = (addon: { id: string }, token: string, name: string, value: string) =>
    world.call(token, `/addons/${addon.id}/config`, {
      method: "PATCH",
      json: { config: [{ name, value }] },
    });
  return { app, set };
}
const vars = (app = "shop") => world.control.configVars(app);
/** An app with a config var of its own. */
const anAppWith = (name: string) =>
  world.control.createAppFromManifest({ name: "made", manifest: { env: { [name]: "mine" } } });

it("the first attachment is named like the declared prefix, and its config vars as declared", async () => {
  const { app } = await aShop();
  const { addon, token } = await world.installed({ app });
  const { body } = await world.call<{ name: string }[]>(token, `/addons/${addon.id}/addon-attachments`);
  expect(body.map(({ name }) => name)).toEqual(["WIDGET"]);
  expect(vars()).toEqual(config);
  expect(addon.config_vars).toEqual(Object.keys(config));
});

it("a second add-on of the service gets a colour, and neither overwrites the other", async () => {
  const { app } = await aShop();
  await world.installed({ app });
  const { addon, token } = await world.installed({ app });
  const names = ["WIDGET_TEAL_URL", "WIDGET_TEAL_TOKEN"];
  expect(vars()).toEqual({ ...config, [names[0]!]: config.WIDGET_URL, [names[1]!]: config.WIDGET_TOKEN });
  // An add-on has the names of its app; its config, which the partner reads and sets, has the declared ones.
  expect(addon.config_vars).toEqual(names);
  const { body } = await world.call<{ name: string }[]>(token, `/addons/${addon.id}/config`);
  expect(body.map(({ name }) => name)).toEqual(Object.keys(config));
});

it("another name takes the place of the prefix, in each app by itself", async () => {
  const { app, set } = await aShop();
  const { addon, token } = await world.installed({ app, as: "EVENTS" });
  world.control.createApp({ name: "blog" });
  world.control.attach(addon.id, { app: "blog" });
  expect([vars(), vars("blog")]).toEqual([renamed, config]);
  expect((await set(addon, token, "WIDGET_URL", "new")).status).toBe(200);
  expect([vars()["EVENTS_URL"], vars("blog")["WIDGET_URL"]]).toEqual(["new", "new"]);
  expect((await set(addon, token, "EVENTS_URL", "x")).status).toBe(422);
});

it("an attachment that is named like the service has the declared names, as in a state file of an earlier sandbox", async () => {
  const { app } = await aShop();
  await world.installed({ app, as: "WIDGETS" });
  expect(vars()).toEqual(config);
});

it("a manifest without a prefix has the words that all its names share", async () => {
  const { app } = await aShop(manifest);
  await world.installed({ app, as: "EVENTS" });
  expect(vars()).toEqual(renamed);
});

describe("of two config vars with one name, the second is refused:", () => {
  it("where the app has one of its own, until the add-on gets another name", async () => {
    await aShop();
    await anAppWith("WIDGET_URL");
    await expect(world.control.install({ app: "made" })).rejects.toThrow(
      "The app already has a config var WIDGET_URL.",
    );
    expect(vars("made")).toEqual({ WIDGET_URL: "mine" });
    await world.installed({ app: "made", as: "EVENTS" });
    expect(vars("made")).toEqual({ WIDGET_URL: "mine", ...renamed });
  });

  it("where another name makes the same of it", async () => {
    const { app } = await aShop({ ...prefixed, config_vars: ["WIDGET_URL", "WIDGET_TEAL_URL"] });
    await world.installed({ app });
    await expect(world.control.install({ app })).rejects.toThrow("a config var WIDGET_TEAL_URL");
  });

  it("where the declared names share no prefix", async () => {
    const { app } = await aShop({ ...manifest, config_vars: ["WIDGET_URL", "TOKEN"] });
    await world.installed({ app });
    await expect(world.control.install({ app })).rejects.toThrow("already has a config var");
  });

  it("where the add-on sets it later, and no manifest declares it", async () => {
    const { config_vars: _, ...open } = manifest;
    const { set } = await aShop(open);
    await anAppWith("LATE");
    const { addon, token } = await world.installed({ app: "made" });
    expect((await set(addon, token, "LATE", "theirs")).status).toBe(422);
    expect(vars("made")).toEqual({ LATE: "mine", ...config });
  });

  it("where the answer to a provision has it: it is left out, with a complaint", async () => {
    const { config_vars: _, ...open } = manifest;
    await aShop(open);
    await anAppWith("WIDGET_URL");
    await world.installed({ app: "made" });
    expect(vars("made")).toEqual({ WIDGET_URL: "mine", WIDGET_TOKEN: "t" });
    expect(JSON.stringify(world.control.ledger())).toContain("an app has WIDGET_URL already");
  });
});
