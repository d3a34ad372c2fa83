import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox } from "../index.ts";
import { aBrowser } from "./browser.ts";
import { aClient, CALLBACK } from "./web-flow.ts";
import { aWorld, client, stopTime, type TestWorld } from "./world.ts";

let world: TestWorld;
let monitor: ReturnType<typeof aClient>;
beforeEach(async () => {
  world = await aWorld();
  monitor = aClient(world.sandbox);
});
afterEach(() => world.close());

const invalidGrant = (reason: RegExp) => ({
  status: 400,
  body: { error: "invalid_grant", error_description: expect.stringMatching(reason) as string },
});

describe("an authorization code", () => {
  it("is exchanged for tokens with the user's id, which open the account", async () => {
    const { status, headers, body } = await monitor.exchange(monitor.code({ scope: "identity" }));
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      "application/json; charset=utf-8",
      "no-store",
    ]);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^SVCK-.{60}$/) as string,
      refresh_token: expect.any(String) as string,
      expires_in: 28_800,
      token_type: "Bearer",
      user_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      session_nonce: expect.any(String) as string,
    });
    const account = await world.call<{ id: string }>(body.access_token, "/account");
    expect(account).toMatchObject({ status: 200, body: { email: "owner@example.com" } });
    expect(account.body.id).toBe((body as unknown as { user_id: string }).user_id);
  });

  it("is refused the second time, and the first tokens stay valid", async () => {
    const code = monitor.code();
    const { body } = await monitor.exchange(code);
    expect(await monitor.exchange(code)).toMatchObject(invalidGrant(/used a second time/));
    expect(await world.call(body.access_token, "/account")).toMatchObject({ status: 200 });
  });

  it("is refused when it is 10 minutes old", async () => {
    stopTime();
    const [early, late] = [monitor.code(), monitor.code()];
    world.control.advanceClock(599);
    expect(await monitor.exchange(early)).toMatchObject({ status: 200 });
    world.control.advanceClock(1);
    expect(await monitor.exchange(late)).toMatchObject(invalidGrant(/older than 10 minutes/));
  });

  describe("asked for with a code challenge (RFC 7636)", () => {
    const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const s256 = {
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
    };
    const ask = (members: Record<string, string>) => {
      const url = monitor.authorizeUrl({ scope: "identity", ...members });
      return new URL(world.sandbox.control.authorize({ url, user: "owner@example.com" })).searchParams;
    };

    it.each([
      ["S256", s256],
      ["plain", { code_challenge: verifier }],
    ])("is exchanged with its verifier only: %s", async (_method, challenge) => {
      const code = ask(challenge).get("code")!;
      expect(await monitor.exchange(code)).toMatchObject(invalidGrant(/code_verifier is missing/));
      for (const wrong of ["x".repeat(43), s256.code_challenge, ""])
        expect(await monitor.exchange(code, { code_verifier: wrong })).toMatchObject(
          invalidGrant(/code_verifier/),
        );
      expect(await monitor.exchange(code, { code_verifier: verifier })).toMatchObject({ status: 200 });
    });

    it.each([
      { code_challenge: "short", code_challenge_method: "S256" },
      { code_challenge: verifier, code_challenge_method: "S512" },
    ])("is not given for a wrong challenge: %j", (challenge) => {
      expect(ask(challenge).get("error")).toBe("invalid_request");
    });

    it("is required, or not looked at, if the setting says so", async () => {
      world.control.settings({ pkce: "required" });
      expect(ask({}).get("error")).toBe("invalid_request");
      world.control.settings({ pkce: "ignored" });
      const code = ask(s256).get("code")!;
      expect(await monitor.exchange(code)).toMatchObject({ status: 200 });
    });
  });

  it("is refused to another client, including the partner's own; a client cannot use a grant", async () => {
    const other = aClient(world.sandbox, { name: "Other" });
    const code = monitor.code();
    expect(await other.exchange(code)).toMatchObject(invalidGrant(/another client/));
    expect(await world.exchange(code)).toMatchObject(invalidGrant(/another client/));
    expect(await monitor.exchange(code)).toMatchObject({ status: 200 });
    await world.control.install();
    expect(await monitor.exchange(world.lastCode())).toMatchObject(invalidGrant(/no such grant/));
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 200 });
  });
});

describe("a refresh in the web flow", () => {
  it("answers the same refresh token and a new access token; the old one ends", async () => {
    const first = await monitor.tokens();
    const { status, headers, body } = await monitor.refresh(first.refresh_token);
    expect(status).toBe(201);
    for (const header of ["etag", "last-modified", "ratelimit-remaining"]) {
      expect(headers.has(header)).toBe(true);
    }
    const { access_token, ...rest } = first;
    expect(body).toEqual({ ...rest, access_token: expect.not.stringContaining(access_token) as string });
    expect(await world.call(access_token, "/account")).toMatchObject({ status: 401 });
    expect(await world.call(body.access_token, "/account")).toMatchObject({ status: 200 });
  });

  it("is allowed to the client of the tokens only", async () => {
    const { refresh_token } = await monitor.tokens();
    const other = aClient(world.sandbox);
    expect(await other.refresh(refresh_token)).toMatchObject(invalidGrant(/another client/));
    expect(await world.refresh(refresh_token)).toMatchObject(invalidGrant(/another client/));
    const { refreshToken } = await world.installed();
    expect(await monitor.refresh(refreshToken)).toMatchObject(invalidGrant(/another client/));
    expect(await monitor.refresh(refresh_token)).toMatchObject({ status: 201 });
  });
});

describe("client authentication of a token request", () => {
  const basic = (user: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
  });

  it("works by HTTP Basic, encoded or not, but not with two different clients", async () => {
    const form = () => ({ grant_type: "authorization_code", code: monitor.code() });
    const { id, secret } = monitor;
    const encoded = id.replaceAll("-", "%2D");
    expect(await world.post(form(), basic(id, secret))).toMatchObject({ status: 200 });
    expect(await world.post(form(), basic(encoded, secret))).toMatchObject({ status: 200 });
    const other = aClient(world.sandbox);
    expect(await world.post(form(), basic(other.id, secret))).toMatchObject({ status: 401 });
    for (const more of [{ client_secret: other.secret }, { client_id: other.id }]) {
      const refused = await world.post({ ...form(), ...more }, basic(id, secret));
      expect(refused).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    }
  });

  it("is refused with a wrong secret, and with another client's", async () => {
    const code = monitor.code();
    const other = aClient(world.sandbox);
    for (const client_secret of ["wrong", other.secret, ""]) {
      const { status, headers, body } = await monitor.exchange(code, {
        client_id: monitor.id,
        client_secret,
      });
      expect([status, body.error, headers.get("cache-control")]).toEqual([401, "invalid_client", "no-store"]);
    }
    expect(await monitor.exchange(code)).toMatchObject({ status: 200 });
  });
});

it("clients, codes and tokens survive a restart, revoked ones stay revoked", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
  const statePath = join(folder, "state.json");
  const first = await startSandbox({ statePath });
  const before = aClient(first);
  const [code, tokens] = [before.code({ scope: "identity" }), await before.tokens()];
  const { body } = await before.refresh(tokens.refresh_token);
  await first.close();

  const second = await startSandbox({ statePath });
  const after = client(second);
  expect(await after.call(body.access_token, "/account")).toMatchObject({ status: 200 });
  expect(await after.call(tokens.access_token, "/account")).toMatchObject({ status: 401 });
  const form = { client_secret: before.secret, code, grant_type: "authorization_code" };
  expect(await after.post(form)).toMatchObject({ status: 200 });
  expect(await after.post(form)).toMatchObject(invalidGrant(/used a second time/));
  await second.close();
  rmSync(folder, { recursive: true });
});

it("the ledger and the state show no secret of the web flow", async () => {
  const browser = aBrowser(world.sandbox.url);
  await browser.visit(monitor.authorizeUrl());
  await browser.press("user", "owner@example.com");
  await browser.follow();
  const { location } = await browser.press("decision", "allow");
  const code = new URL(location!).searchParams.get("code")!;
  const { body } = await monitor.exchange(code);
  await monitor.refresh(body.refresh_token);
  // Secrets in places where they do not belong are refused, and masked too.
  await browser.visit(`/oauth/token?client_secret=${monitor.secret}`, { method: "POST" });
  const session = browser.cookies.get("platform_session")!;
  const shown = JSON.stringify([world.control.ledger(), world.control.state()]);
  for (const secret of [code, session, monitor.secret, body.access_token, body.refresh_token]) {
    expect(shown).not.toContain(secret);
  }
  expect(world.control.state().clients).toContainEqual({
    id: monitor.id,
    name: "Monitor",
    redirect_uri: CALLBACK,
  });
});
