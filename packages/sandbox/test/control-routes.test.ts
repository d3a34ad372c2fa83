import { networkInterfaces } from "node:os";
import { startSandbox } from "../index.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

async function control<Body = Record<string, unknown>>(method: string, path: string, json?: unknown) {
  const response = await fetch(`${world.sandbox.url}/sandbox${path}`, {
    method,
    ...(json !== undefined && {
      body: JSON.stringify(json),
      headers: { "content-type": "application/json" },
    }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

it("a connection stays open for a client that pauses for a minute", async () => {
  const { headers } = await fetch(`${world.sandbox.url}/sandbox/health`);
  expect(Number(/timeout=(\d+)/.exec(headers.get("keep-alive") ?? "")?.[1])).toBeGreaterThan(60);
});

type Installed = { addon: { id: string; state: string; app: { id: string } }; response: { status: number } };

it("the control API leads an add-on through its whole life", async () => {
  expect(await control("GET", "/health")).toMatchObject({ status: 200 });
  const app = await control<{ id: string }>("POST", "/apps", {
    name: "my-shop",
    team: "makers",
    generation: "newer",
  });
  expect(app).toMatchObject({ status: 201, body: { name: "my-shop", generation: { name: "newer" } } });
  const { status, body } = await control<Installed>("POST", "/apps/my-shop/addons", {
    plan: "basic",
    as: "MAIN",
  });
  expect([status, body.addon.state, body.response.status]).toEqual([201, "provisioned", 200]);
  const { id } = body.addon;
  await world.exchange(world.lastCode());
  expect(await control("GET", "/state")).toMatchObject({
    status: 200,
    body: {
      apps: [{ name: "my-shop", config_vars: ["MAIN_URL"] }],
      addons: [{ id, grant: { state: "exchanged" }, tokens: [{ state: "valid" }] }],
      settings: { expiresIn: 28_800 },
    },
  });
  expect(await control("POST", `/addons/${id}/redeliver`)).toMatchObject({ status: 200 });
  expect(await control("PATCH", `/addons/${id}`, { plan: "premium" })).toMatchObject({ status: 200 });
  const other = await control<{ id: string }>("POST", "/apps");
  const attachment = await control("POST", `/addons/${id}/attachments`, { app: other.body.id });
  expect(attachment).toMatchObject({ status: 201, body: { name: "WIDGETS", app: { id: other.body.id } } });
  expect(await control("POST", `/addons/${id}/sso`, { form: true })).toMatchObject({
    body: { form: { resource_id: id } },
  });
  expect(await control("POST", `/addons/${id}/revoke`, { token: "access" })).toMatchObject({
    body: { tokens: [{ state: "revoked" }] },
  });
  expect(await control("DELETE", `/addons/${id}`)).toMatchObject({
    body: { addon: { state: "deprovisioned" } },
  });
  const ledger = await control<{ entries: unknown[]; next: number }>("GET", "/ledger?since=1");
  expect(ledger.body.entries).toHaveLength(4);
  expect(await control("POST", "/reset")).toMatchObject({ status: 200 });
  expect(await control("GET", "/state")).toMatchObject({ body: { apps: [], addons: [] } });
});

it("the control API changes settings, clock, client secret and faults at run time", async () => {
  expect(await control("POST", "/settings", { expiresIn: 5 })).toMatchObject({ body: { expiresIn: 5 } });
  for (const [plainRefusals, plain401] of [
    [true, "tokens"],
    [false, "never"],
  ] as const)
    expect(await control("POST", "/settings", { plainRefusals })).toMatchObject({ body: { plain401 } });
  expect(await control("PUT", "/partner", { PARTNER_URL: "http://localhost:9" })).toMatchObject({
    body: { partnerUrl: "http://localhost:9" },
  });
  const { body } = await control<{ now: string }>("POST", "/clock", { advance: 3600 });
  expect(Date.parse(body.now)).toBeGreaterThan(Date.now() + 3_500_000);
  expect(await control("POST", "/client-secret/reset")).toMatchObject({
    body: { secret: world.sandbox.settings.clientSecret },
  });
  const fault = { match: "* /addons/*", times: 2, action: { status: 500 } };
  expect(await control("POST", "/faults", fault)).toMatchObject({ status: 201, body: fault });
  expect(await control("DELETE", "/faults")).toMatchObject({ status: 200 });
});

it("a manifest given to PUT /sandbox/partner registers the add-on as at the start; members beside it override it", async () => {
  const plans = [{ name: "tiny" }];
  const said = { id: "kettles", plans, base_url: "https://k.example.com/v2/resources", sso_salt: "its-salt" };
  const addonManifest = { ...said, password: "of-the-portal" };
  const { status, body } = await control("PUT", "/partner", { addonManifest, ADDON_PASSWORD: "named" });
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toMatch(/of-the-portal|its-salt/);
  expect(world.sandbox.settings).toMatchObject({
    addonId: "kettles",
    partnerUrl: "https://k.example.com",
    resourcesPath: "/v2/resources",
    addonPassword: "named",
    ssoSalt: "its-salt",
  });
  expect(await control("PUT", "/partner", { addonManifest: { ...said, base_url: "nowhere" } })).toMatchObject(
    {
      status: 422,
      body: { message: expect.stringContaining("base_url") as string },
    },
  );
  expect(await control("PUT", "/partner", { addonManifest: null })).toMatchObject({
    status: 200,
    body: { addonId: "kettles", addonManifest: null },
  });
});

it("a replaced client secret is refused as a former one, and is shown nowhere", async () => {
  const { clientSecret } = world.sandbox.settings;
  const { refreshToken, token } = await world.installed();
  await control("PUT", "/partner", { clientSecret });
  expect(await world.call(token, "/addons")).toMatchObject({ status: 200 });
  await control("PUT", "/partner", { clientSecret: "another-client-secret" });
  expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
  const refused = await world.refresh(refreshToken, clientSecret);
  expect(refused.body.error_description).toBe("The client secret was reset; this is a former one.");
  const sent = { "content-type": "text/plain" };
  await fetch(`${world.sandbox.url}/oauth/token`, {
    method: "POST",
    headers: sent,
    body: `s=${clientSecret}`,
  });
  expect(JSON.stringify(world.control.ledger())).not.toContain(clientSecret);
  expect(await world.refresh(refreshToken)).toMatchObject({ status: 201 });
});

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);
(hasIpv6 ? it : it.skip)("an IPv6 address is written in brackets", async () => {
  const sandbox = await startSandbox({ host: "::1" });
  expect(sandbox.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect((await fetch(`${sandbox.url}/sandbox/health`)).status).toBe(200);
  await sandbox.close();
});

it("the control API puts apps into a pipeline and renames them", async () => {
  await control("POST", "/apps", { name: "shop", pipeline: "shops" });
  const staging = { name: "shop-staging", pipeline: "shops", stage: "staging" };
  const { body } = await control<{ id: string }>("POST", "/apps", staging);
  expect(await control("PATCH", "/apps/shop-staging", { name: "shop-test" })).toMatchObject({
    status: 200,
    body: { id: body.id, name: "shop-test" },
  });
  expect(await control("PATCH", `/apps/${body.id}`, { name: "shop" })).toMatchObject({ status: 409 });
  expect(await control("PATCH", "/apps/shop-staging", { name: "x-y-z" })).toMatchObject({ status: 404 });
  for (const wrong of [{}, { name: 5 }, { name: "No" }]) {
    expect(await control("PATCH", "/apps/shop", wrong)).toMatchObject({ status: 422 });
  }
  for (const wrong of [{ pipeline: 5 }, { stage: [] }, { pipeline: "shops", stage: "live" }]) {
    expect(await control("POST", "/apps", wrong)).toMatchObject({ status: 422 });
  }
});

it("the control API says what is wrong with a call", async () => {
  expect(await control("POST", "/settings", { expiresin: 5 })).toMatchObject({
    status: 422,
    body: { id: "invalid_params" },
  });
  expect(await control("POST", "/settings", { refreshStatus: 204 })).toMatchObject({ status: 422 });
  expect(await control("PUT", "/partner", { partnerUrl: "nowhere" })).toMatchObject({ status: 422 });
  expect(await control("POST", "/apps", { name: "No" })).toMatchObject({ status: 422 });
  expect(await control("POST", "/apps/unknown/addons", { plan: "basic" })).toMatchObject({ status: 404 });
  expect(await control("POST", "/clock", {})).toMatchObject({ status: 422 });
  expect(await control("GET", "/incidents")).toMatchObject({ status: 404 });
});

const mediaTypeDemand =
  "mediaType: must be a media type like application/json or application/vnd.svc+json; version=3.";
const endpointDemand = "extraEndpoints: must be a method, a space and a path, like GET /apps/*/dynos.";

it.each([
  ["mediaType", "nonsense", mediaTypeDemand],
  ["mediaType", "application/", mediaTypeDemand],
  ["mediaType", "application/json, text/html", mediaTypeDemand],
  ["mediaType", "application/json; charset=utf-8", mediaTypeDemand],
  ["mediaType", "application/json; version=", mediaTypeDemand],
  ["extraEndpoints", ["nonsense"], endpointDemand],
  ["extraEndpoints", ["/spaces"], endpointDemand],
  ["extraEndpoints", ["GET  /spaces"], endpointDemand],
  ["extraEndpoints", ["HEAD /spaces"], endpointDemand],
  ["extraEndpoints", ["GET /spaces?all"], endpointDemand],
  ["extraEndpoints", ["GET /spaces", "GET https://example.com/"], endpointDemand],
])("a %s that can never match is refused: %j", async (name, value, message) => {
  expect(await control("POST", "/settings", { [name]: value })).toMatchObject({
    status: 422,
    body: { id: "invalid_params", message },
  });
});
