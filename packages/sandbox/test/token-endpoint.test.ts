import { aWorld, stopTime, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

describe("an access token", () => {
  it("has exactly 65 characters and the prefix", async () => {
    const { token } = await world.installed();
    expect(token).toMatch(/^SVCK-.{60}$/);
  });

  it("ends when it is refreshed, which is answered 201 with the same refresh token", async () => {
    const { addon, token, refreshToken } = await world.installed();
    const { status, headers, body } = await world.refresh(refreshToken);
    expect([status, body.refresh_token]).toEqual([201, refreshToken]);
    for (const header of ["etag", "last-modified", "ratelimit-remaining"])
      expect(headers.has(header)).toBe(true);
    expect(await world.call(token, `/addons/${addon.id}`)).toMatchObject({
      status: 401,
      body: { id: "unauthorized", message: "The access token was replaced by a refresh." },
    });
    expect(await world.call(body.access_token, `/addons/${addon.id}`)).toMatchObject({ status: 200 });
  });

  it("expires after 8 hours of the sandbox's clock, though expires_in says more", async () => {
    stopTime();
    world.control.settings({ expiresIn: 2_592_000 });
    const { addon, token, refreshToken } = await world.installed();
    world.control.advanceClock(8 * 3600 - 1);
    expect(await world.call(token, `/addons/${addon.id}`)).toMatchObject({ status: 200 });
    world.control.advanceClock(1);
    expect(await world.call(token, `/addons/${addon.id}`)).toMatchObject({ status: 401 });
    expect(await world.refresh(refreshToken)).toMatchObject({ status: 201, body: { expires_in: 2_592_000 } });
  });

  it("expires after the expiresIn setting when that is shorter", async () => {
    world.control.settings({ expiresIn: 2 });
    const { addon, token } = await world.installed();
    world.control.advanceClock(2);
    expect(world.control.addon(addon.id).tokens).toMatchObject([{ state: "expired" }]);
    expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
  });

  it("ends when the client secret is reset; only the new secret refreshes", async () => {
    const { token, refreshToken } = await world.installed();
    const other = await world.installed();
    const former = world.sandbox.settings.clientSecret;
    const { secret } = world.control.resetClientSecret();
    for (const each of [token, other.token]) {
      expect(await world.call(each, "/addons")).toMatchObject({ status: 401 });
    }
    const refused = await world.refresh(refreshToken, former);
    expect(refused).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(JSON.stringify(refused.body)).not.toContain(former);
    expect(await world.refresh(refreshToken, secret)).toMatchObject({ status: 201 });
  });

  it("ends when it is revoked, and can be refreshed; a revoked refresh token cannot", async () => {
    const { addon, token, refreshToken } = await world.installed();
    world.control.revoke(addon.id, "access");
    expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
    expect(await world.refresh(refreshToken)).toMatchObject({ status: 201 });
    world.control.revoke(addon.id, "refresh");
    expect(await world.refresh(refreshToken)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("and its refresh token end with the add-on", async () => {
    const { addon, token, refreshToken } = await world.installed();
    await world.control.deprovision(addon.id);
    expect(await world.call(token, `/addons/${addon.id}`)).toMatchObject({ status: 401 });
    expect(await world.refresh(refreshToken)).toMatchObject({ status: 400 });
  });
});

describe("the client secret", () => {
  it("is no credential for the API, nor are the add-on's password and a refresh token", async () => {
    const { addon, refreshToken } = await world.installed();
    const { clientSecret, addonId, addonPassword } = world.sandbox.settings;
    const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
    const bearers = [clientSecret, addonPassword, refreshToken].map((secret) => `Bearer ${secret}`);
    const named = [clientSecret, addonPassword].map((secret) => basic(`${addonId}:${secret}`));
    // Where customers are answered too, any other token is one of theirs.
    for (const customerApi of [false, true]) {
      world.control.settings({ customerApi });
      for (const authorization of [...bearers, ...named, basic(`:${clientSecret}`)]) {
        const answer = await world.call("", `/addons/${addon.id}`, { headers: { authorization } });
        expect(answer).toMatchObject({ status: 401, body: { id: "unauthorized" } });
      }
    }
  });
});

describe("the refreshToken setting", () => {
  it("new: answers a new refresh token, and refuses the former one", async () => {
    world.control.settings({ refreshToken: "new", refreshStatus: 200 });
    const { refreshToken } = await world.installed();
    const { status, body } = await world.refresh(refreshToken);
    expect(status).toBe(200);
    expect(body.refresh_token).not.toBe(refreshToken);
    expect(await world.refresh(refreshToken)).toMatchObject({ status: 400 });
    expect(await world.refresh(body.refresh_token)).toMatchObject({ status: 200 });
  });

  it("none: answers none, and the old one stays valid", async () => {
    world.control.settings({ refreshToken: "none" });
    const { refreshToken } = await world.installed();
    expect((await world.refresh(refreshToken)).body).not.toHaveProperty("refresh_token");
    expect(await world.refresh(refreshToken)).toMatchObject({ status: 201 });
  });
});

describe("POST /oauth/token", () => {
  const refusal = (status: number, error: string) => ({ status, body: { error } });

  it("accepts forms only", async () => {
    const body = JSON.stringify({
      grant_type: "refresh_token",
      client_secret: world.sandbox.settings.clientSecret,
    });
    const response = await fetch(`${world.sandbox.url}/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: "invalid_request" }]);
    const got = await fetch(`${world.sandbox.url}/oauth/token`);
    expect([got.status, await got.json()]).toMatchObject([405, { error: "invalid_request" }]);
  });

  it("refuses a secret in the address", async () => {
    const secret = world.sandbox.settings.clientSecret;
    const response = await fetch(`${world.sandbox.url}/oauth/token?client_secret=${secret}`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: "x" }),
    });
    expect([response.status, await response.json()]).toMatchObject([400, { error: "invalid_request" }]);
    expect(JSON.stringify(world.control.ledger())).not.toContain(secret);
  });

  it("names the error as RFC 6749 does", async () => {
    const client_secret = world.sandbox.settings.clientSecret;
    expect(await world.post({ client_secret, grant_type: "password" })).toMatchObject(
      refusal(400, "unsupported_grant_type"),
    );
    expect(await world.post({ client_secret })).toMatchObject(refusal(400, "invalid_request"));
    expect(await world.post({ grant_type: "refresh_token" })).toMatchObject(refusal(401, "invalid_client"));
    expect(await world.refresh("unknown")).toMatchObject(refusal(400, "invalid_grant"));
    const foreign = { client_secret, client_id: "another", grant_type: "refresh_token", refresh_token: "x" };
    expect(await world.post(foreign)).toMatchObject(refusal(401, "invalid_client"));
  });

  it("accepts the client secret by HTTP Basic too, and refuses a wrong one", async () => {
    const { refreshToken } = await world.installed();
    const form = { grant_type: "refresh_token", refresh_token: refreshToken };
    const basic = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`widgets:${secret}`).toString("base64")}`,
    });
    expect(await world.post(form, basic(world.sandbox.settings.clientSecret))).toMatchObject({ status: 201 });
    const both = { ...form, client_secret: world.sandbox.settings.clientSecret };
    expect(await world.post(both, basic("wrong"))).toMatchObject(refusal(401, "invalid_client"));
  });
});
