import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startSandbox } from "../index.ts";
import { aWorld, holdDelays, stopTime, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld({ legacyGrants: true })));
afterEach(() => world.close());

const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

interface Answer {
  id?: string;
  message?: string;
  oauth_grant: { code: string; type: string; expires_at: string };
}

/** The call as a partner makes it; null leaves a header out. */
async function get(uuid: string, change: Record<string, string | null> = {}) {
  const { addonId, addonPassword } = world.sandbox.settings;
  const usual = {
    authorization: basic(addonId, addonPassword),
    accept: "application/vnd.svc+json; version=3",
  };
  const headers = Object.entries({ ...usual, ...change }).filter(([, value]) => value !== null) as [
    string,
    string,
  ][];
  const response = await fetch(`${world.sandbox.url}/vendor/resources/${uuid}/oauth-grant`, { headers });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer,
  };
}

const codeOf = async (uuid: string) => (await get(uuid)).body.oauth_grant.code;

describe("GET /vendor/resources/:uuid/oauth-grant", () => {
  it("is disabled until a setting enables it, and says so", async () => {
    const { addon } = await world.control.install();
    world.control.settings({ legacyGrants: false });
    expect(await get(addon.id)).toMatchObject({
      status: 403,
      body: { id: "forbidden", message: expect.stringMatching(/not opened/) as string },
    });
    world.control.settings({ legacyGrants: true });
    expect((await get(addon.id)).status).toBe(200);
  });

  it("is the same while customers are answered too", async () => {
    world.control.settings({ customerApi: true });
    const { addon } = await world.control.install();
    expect(await get(addon.id)).toMatchObject({ status: 200, body: { oauth_grant: {} } });
    expect(await get(addon.id, { accept: null })).toMatchObject({ status: 406 });
  });

  it("answers the grant in its documented shape, not to be cached", async () => {
    const { addon } = await world.control.install();
    const { headers, body } = await get(addon.id);
    expect(Object.keys(body)).toEqual(["oauth_grant"]);
    expect(Object.keys(body.oauth_grant)).toEqual(["code", "type", "expires_at"]);
    expect(body.oauth_grant.type).toBe("authorization_code");
    expect(body.oauth_grant.expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("then generates a new grant, valid for 5 minutes", async () => {
    stopTime();
    const { addon } = await world.control.install();
    world.control.advanceClock(300);
    const renewed = await codeOf(addon.id);
    expect(renewed).not.toBe(world.lastCode());
    world.control.advanceClock(299);
    expect(await codeOf(addon.id)).toBe(renewed);
    expect(await world.exchange(renewed)).toMatchObject({ status: 200 });
  });

  it("refuses for good when a grant of the resource was exchanged", async () => {
    const { addon } = await world.installed();
    const refusal = {
      status: 409,
      body: { id: "conflict", message: expect.stringMatching(/already exchanged/) as string },
    };
    expect(await get(addon.id)).toMatchObject(refusal);
    world.control.advanceClock(3_600);
    expect(await get(addon.id)).toMatchObject(refusal);
    await world.control.redeliver(addon.id, { newCode: true });
    expect(await get(addon.id)).toMatchObject(refusal);
  });

  it("answers a grant that cannot be exchanged before the provision is answered", async () => {
    const arrive = holdDelays();
    world.control.fault("> POST /resources", { delayMs: 50 });
    const installing = world.control.install();
    const [{ id } = { id: "" }] = world.control.state().addons;
    const code = await codeOf(id);
    expect(await world.exchange(code)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    arrive();
    await installing;
    expect(await world.exchange(code)).toMatchObject({ status: 200 });
  });

  it("accepts only uuids of live resources", async () => {
    const { addon } = await world.control.install();
    expect(await get("01234567-89ab-cdef-0123-456789abcdef")).toMatchObject({
      status: 404,
      body: { id: "not_found" },
    });
    expect((await get(addon.name)).status).toBe(404);
    await world.control.deprovision(addon.id);
    expect((await get(addon.id)).status).toBe(404);
  });

  it("accepts only the partner's Basic credentials", async () => {
    const { addon, token } = await world.installed();
    const { addonId, addonPassword, clientSecret } = world.sandbox.settings;
    for (const authorization of [
      null,
      basic(addonId, "wrong"),
      basic("wrong", addonPassword),
      basic(addonId, clientSecret),
      `Bearer ${token}`,
      "Basic !!!",
    ]) {
      const { status, headers, body } = await get(addon.id, { authorization });
      expect([authorization, status, body.id]).toEqual([authorization, 401, "unauthorized"]);
      expect(headers.get("www-authenticate")).toMatch(/^Basic realm=/);
    }
  });

  it("masks its code in the ledger", async () => {
    const { addon } = await world.control.install();
    const code = await codeOf(addon.id);
    expect(JSON.stringify(world.control.ledger().entries)).not.toContain(code);
  });

  it("issues grants that survive a restart", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "sandbox-oauth-grant-"));
    const options = { statePath: path.join(folder, "state.json"), partnerUrl: world.partner.url };
    const { addonId, addonPassword, clientSecret } = world.sandbox.settings;
    const given = { ...options, addonId, addonPassword, clientSecret, legacyGrants: true };
    const first = await startSandbox(given);
    const { addon } = first.control.installWithoutProvision();
    // Everything is saved by now; what follows is caused by the call.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const headers = {
      authorization: basic(addonId, addonPassword),
      accept: first.settings.mediaType,
    };
    const response = await fetch(`${first.url}/vendor/resources/${addon.id}/oauth-grant`, { headers });
    const { oauth_grant: grant } = (await response.json()) as Answer;
    await first.close();
    const second = await startSandbox(given);
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: grant.code,
      client_secret: clientSecret,
    });
    expect((await fetch(`${second.url}/oauth/token`, { method: "POST", body })).status).toBe(200);
    await second.close();
    rmSync(folder, { recursive: true });
  });
});

describe("an installation without a provision request", () => {
  it("exists at the platform, and gets its grant from this endpoint", async () => {
    const { addon } = world.control.installWithoutProvision({ plan: "premium" });
    expect(world.partner.requests).toEqual([]);
    expect(world.control.addon(addon.id)).toMatchObject({ state: "provisioned", grant: null, tokens: [] });
    const { status, body } = await world.exchange(await codeOf(addon.id));
    expect(status).toBe(200);
    const own = await world.call<{ plan: { name: string } }>(body.access_token, `/addons/${addon.id}`);
    expect(own.body.plan.name).toBe("widgets:premium");
  });

  it("can be created over HTTP on an existing app", async () => {
    const app = world.control.createApp({ name: "old-app" });
    const response = await fetch(`${world.sandbox.url}/sandbox/apps/old-app/addons`, {
      method: "POST",
      body: JSON.stringify({ plan: "basic", silent: true }),
    });
    expect(response.status).toBe(201);
    const { addon } = (await response.json()) as { addon: { id: string; app: object } };
    expect(addon.app).toEqual({ id: app.id, name: "old-app" });
    expect(world.partner.requests).toEqual([]);
  });
});
