import { aWorld } from "../../packages/sandbox/test/world.ts";
import { endpointOf } from "../../src/metrics/labels.ts";
import { createPlatformFor, type ResourceApi } from "../../src/platform/api.ts";
import { path, rawPath } from "../../src/platform/path.ts";
import { Secret } from "../../src/secret.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";
import { playedPlatform } from "../support/played-platform.ts";
import { opened } from "../support/world.ts";
import { aClient, MEDIA_TYPE, OTHER, UUID } from "./api-client.ts";
import { anHttp } from "./local-server.ts";

const platform = playedPlatform();

/** The client and the sandbox share no code: each endpoint of the client is called on a strict platform. */
describe("the client", () => {
  const world = opened(() => aWorld());
  const http = anHttp();
  let api: ResourceApi;
  let app: { id: string; name: string; team: { id: string } | null };
  let addon: { id: string; name: string };

  beforeAll(async () => {
    app = world.control.createApp({ name: "tea-house", team: "makers", pipeline: "tea" });
    const installed = await world.installed({ app: app.id });
    addon = installed.addon;
    const current = () => Promise.resolve(new Secret(installed.token));
    const tokensOf = () => ({ current, renew: current });
    const apiUrl = world.sandbox.url;
    api = createPlatformFor({ http, apiUrl, mediaType: MEDIA_TYPE, tokensOf })(addon.id);
  });

  const DRAIN = "https://user:pass@logs.example:8443/in?t=1&u=%C3%A4#x";
  const MOVED = "syslog+tls://logs.example:6514";

  it("reads add-ons, their attachments and their config", async () => {
    const own = await api.addons.own();
    expect(own).toMatchObject({ ...addon, state: "provisioned", app: { id: app.id, name: "tea-house" } });
    for (const list of [api.addons.list(), api.addons.ofUser("~"), api.addons.ofUser("owner@example.com")]) {
      expect(await list).toEqual([own]);
    }
    expect(await api.addons.ofApp(app.name)).toEqual([own]);
    const [attachment] = await api.attachments.ofAddon();
    expect(await api.attachments.ofApp(app.id)).toEqual([attachment]);
    for (const key of [attachment!.id, attachment!.name]) {
      expect(await api.attachments.get(app.name, key)).toEqual(attachment);
    }
    const config = [
      { name: "WIDGET_URL", value: "https://w.example.com" },
      { name: "WIDGET_TOKEN", value: "t" },
    ];
    expect(await api.config.update([config[1]!])).toEqual(config);
    expect(await api.config.update([{ name: "WIDGET_TOKEN", value: null }])).toEqual([config[0]]);
    expect(await api.config.get()).toEqual([config[0]]);
  });

  it("reads apps and their related objects", async () => {
    const whole = await api.apps.get(app.id);
    expect(whole).toEqual(app);
    expect(await api.apps.get("tea-house")).toEqual(whole);
    for (const list of [api.apps.list(), api.apps.ofUser("~"), api.apps.ofUser("owner@example.com")]) {
      expect(await list).toEqual([whole]);
    }
    expect(await api.apps.filter([app.id, addon.id])).toMatchObject([{ id: app.id, joined: true }]);
    const people = await api.collaborators.ofApp(app.name);
    const members = await api.teamMembers.ofTeam("makers");
    expect(await api.teamMembers.ofTeam(app.team!.id)).toEqual(members);
    expect(people.map(({ user }) => user.email).sort()).toEqual(members.map(({ email }) => email).sort());
    expect((await api.domains.ofApp(app.id)).map(({ kind }) => kind).sort()).toEqual(["custom", "platform"]);
    const [pipeline] = await api.pipelines.list();
    for (const key of [pipeline!.id, "tea"]) expect(await api.pipelines.get(key)).toEqual(pipeline);
    const coupling = await api.pipelineCouplings.ofApp(app.name);
    expect(await api.pipelineCouplings.get(coupling.id)).toEqual(coupling);
    expect(await api.pipelineCouplings.list()).toEqual([coupling]);
    expect(await api.pipelineCouplings.ofPipeline(pipeline!.id)).toEqual([coupling]);
  });

  it("finds log drains by id, token or URL", async () => {
    const made = await api.logDrains.create(app.name, DRAIN);
    for (const key of [made.id, made.token, DRAIN])
      expect(await api.logDrains.get(app.id, key)).toEqual(made);
    const moved = await api.logDrains.update(DRAIN, MOVED);
    expect(moved).toMatchObject({ id: made.id, url: MOVED });
    expect(await api.logDrains.ofAddon()).toEqual([moved]);
    expect(await api.logDrains.ofApp(app.id)).toEqual([moved]);
    await api.logDrains.remove(app.name, MOVED);
    expect(await api.logDrains.ofApp(app.id)).toEqual([]);
  });
});

describe("a path given to kit api", () => {
  it.each([
    ...["/apps", "/addons", "/addons/", `/addons/${UUID}`, `/addons/${UUID.toUpperCase()}/config`],
    ...["/apps/a/log-drains/https%3A%2F%2Flogs.example", "/users/~/apps?a=b%20c&d=/x?y"],
    ...["/users/a@b.example/apps", `/apps/a/addons/${OTHER}`],
  ])("is accepted: %s", (typed) => {
    expect(rawPath(typed, "https://api.example/v3", UUID)).toBe(typed);
  });

  it.each([
    ...["", "apps", "//evil.example/apps", "/\\evil.example", "https://evil.example/apps", "@evil.example"],
    ...[".evil.example", ":1/apps", "/apps/../addons", "/apps/./x", "/apps/..", "/apps/%2e%2e/x"],
    ...["/apps/%2E./x", "/apps/..%2faddons", "/apps//x", "/apps/a b", "/apps/a\r\nhost: x", "/apps/\tx"],
    ...["/apps/ä", "/apps#x", "/apps/%", "/apps/%zz"],
  ])("is refused: %j", (typed) => {
    expect(() => rawPath(typed, "https://api.example/v3", UUID)).toThrow(
      expect.objectContaining({ id: "invalid_path" }),
    );
  });

  it.each([
    ...[`/addons/${OTHER}`, `/addons/${OTHER}/config`, `/ADDONS/${OTHER}`, `/%61ddons/${OTHER}`],
    ...[`/addons%2F${OTHER}`, `/%2Faddons/${OTHER}`, "/addons/its-name", `/addons/${UUID}x?a=b`],
  ])("is refused when it leads to another resource: %s", (typed) => {
    expect(() => rawPath(typed, "https://api.example/v3", UUID)).toThrow(
      expect.objectContaining({ id: "foreign_resource" }),
    );
  });

  it("is never called with another resource's token", async () => {
    const { forResource } = aClient();
    const foreign = expect.objectContaining({ id: "foreign_resource" });
    for (const [mine, other] of [
      [UUID, OTHER],
      [OTHER, UUID],
    ] as const) {
      const api = forResource(mine);
      await expect(api.request("GET", `/addons/${other}/config`)).rejects.toEqual(foreign);
      for (let call = 0; call < 2; call += 1) platform.answers(`GET /addons/${mine}/config`, { body: [] });
      await api.request("GET", `/addons/${mine}/config`);
      await api.config.get();
    }
  });
});

describe("endpointOf: the endpoint label of a call", () => {
  it("is known for every call of the client", async () => {
    const endpoints = await clientEndpoints();
    expect(endpoints.length).toBeGreaterThan(30);
    for (const endpoint of endpoints) {
      const [method, template] = endpoint.split(" ") as [string, string];
      const filled = template.replaceAll(":id", "0123-somebody%2Fs");
      expect(endpointOf(method, new URL(`https://platform.example${filled}`))).toBe(endpoint);
      expect(endpointOf(method, `https://platform.example/below/a/path${filled}?since=1`)).toBe(endpoint);
    }
  });

  it("is that of a template which was called, with no other line of code", () => {
    const url = `https://platform.example${path`/apps/${"tea"}/sizes-of-kettles/${"small"}`}`;
    expect(endpointOf("GET", url)).toBe("GET /apps/:id/sizes-of-kettles/:id");
  });

  it.each(["/", "/somebody", "/addons-of/somebody", "/apps/somebody/releases", "/addons/a/b/c/d/e"])(
    "is other for the unknown path %s",
    (unknown) => expect(endpointOf("GET", `https://platform.example${unknown}`)).toBe("other"),
  );
});
