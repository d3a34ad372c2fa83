import * as oauth from "oauth4webapi";
import { AuthorizationCode } from "simple-oauth2";
import { aBrowser } from "./browser.ts";
import { CALLBACK } from "./web-flow.ts";
import { aWorld, type TestWorld } from "./world.ts";

/** OAuth libraries of third parties, used for the complete web flow. Strict ones require 200 for a refresh. */
let world: TestWorld;
let id: string;
let secret: string;
beforeEach(async () => {
  world = await aWorld({ refreshStatus: 200 });
  ({ id, secret } = world.control.registerClient({ name: "Stranger", redirectUri: CALLBACK }));
});
afterEach(() => world.close());

/** Completes the authorize page as a user who allows access; returns the redirect's target. */
async function allow(url: string | URL): Promise<URL> {
  const browser = aBrowser(world.sandbox.url);
  await browser.visit(String(url));
  await browser.press("user", "owner@example.com");
  await browser.follow();
  return new URL((await browser.press("decision", "allow")).location ?? "");
}

describe("the library oauth4webapi", () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const server = (): oauth.AuthorizationServer => ({
    issuer: world.sandbox.url,
    authorization_endpoint: `${world.sandbox.url}/oauth/authorize`,
    token_endpoint: `${world.sandbox.url}/oauth/token`,
  });
  const client = (): oauth.Client => ({ client_id: id });
  const accept = { accept: "application/vnd.svc+json; version=3" };

  function authorizeUrl(state: string, scope = "global"): URL {
    const url = new URL(server().authorization_endpoint!);
    const members = { client_id: id, response_type: "code", redirect_uri: CALLBACK, scope, state };
    for (const [name, value] of Object.entries(members)) url.searchParams.set(name, value);
    return url;
  }

  async function signIn(auth: oauth.ClientAuth) {
    const state = oauth.generateRandomState();
    const answer = oauth.validateAuthResponse(server(), client(), await allow(authorizeUrl(state)), state);
    const response = await oauth.authorizationCodeGrantRequest(
      server(),
      client(),
      auth,
      answer,
      CALLBACK,
      oauth.nopkce,
      insecure,
    );
    return oauth.processAuthorizationCodeResponse(server(), client(), response);
  }

  it.each([
    ["in the form", (secret: string) => oauth.ClientSecretPost(secret)],
    ["in the header", (secret: string) => oauth.ClientSecretBasic(secret)],
  ])("signs in, refreshes and revokes, with its secret %s", async (_where, authOf) => {
    const auth = authOf(secret);
    const tokens = await signIn(auth);
    expect(tokens).toMatchObject({ token_type: "bearer", expires_in: 28_800 });

    const request = await oauth.refreshTokenGrantRequest(
      server(),
      client(),
      auth,
      tokens.refresh_token!,
      insecure,
    );
    const fresh = await oauth.processRefreshTokenResponse(server(), client(), request);
    expect(fresh.refresh_token).toBe(tokens.refresh_token);

    const ask = (method: string, path: string, token = fresh.access_token) =>
      oauth.protectedResourceRequest(
        token,
        method,
        new URL(path, world.sandbox.url),
        new Headers(accept),
        null,
        insecure,
      );
    await expect(ask("GET", "/account", tokens.access_token)).rejects.toMatchObject({
      code: "OAUTH_WWW_AUTHENTICATE_CHALLENGE",
      status: 401,
    });
    expect(await (await ask("GET", "/account")).json()).toMatchObject({ email: "owner@example.com" });
    const [given] = (await (await ask("GET", "/oauth/authorizations")).json()) as [{ id: string }];
    expect((await ask("DELETE", `/oauth/authorizations/${given.id}`)).status).toBe(200);
    await expect(ask("GET", "/account")).rejects.toMatchObject({ status: 401 });
    const refused = await oauth.refreshTokenGrantRequest(
      server(),
      client(),
      auth,
      fresh.refresh_token!,
      insecure,
    );
    await expect(oauth.processRefreshTokenResponse(server(), client(), refused)).rejects.toMatchObject({
      error: "invalid_grant",
      status: 400,
    });
  });

  it("understands a denial, a wrong scope, a wrong state and a wrong secret", async () => {
    const judge =
      (location: string, state = "s") =>
      () =>
        oauth.validateAuthResponse(server(), client(), new URL(location), state);
    const url = String(authorizeUrl("s"));
    const denied = world.control.authorize({ url, allow: false });
    expect(judge(denied)).toThrow(expect.objectContaining({ error: "access_denied" }) as Error);
    const unknown = world.control.authorize({ url: String(authorizeUrl("s", "everything")) });
    expect(judge(unknown)).toThrow(expect.objectContaining({ error: "invalid_scope" }) as Error);
    expect(judge(world.control.authorize({ url }), "another")).toThrow(/state/);
    await expect(signIn(oauth.ClientSecretBasic("wrong"))).rejects.toMatchObject({ status: 401 });
  });
});

describe("the library simple-oauth2", () => {
  it.each(["body", "header"] as const)("signs in and refreshes with the secret in the %s", async (where) => {
    const client = new AuthorizationCode({
      client: { id, secret },
      auth: { tokenHost: world.sandbox.url, tokenPath: "/oauth/token", authorizePath: "/oauth/authorize" },
      options: { authorizationMethod: where },
    });
    const url = client.authorizeURL({ redirect_uri: CALLBACK, scope: ["identity", "read"], state: "s" });
    const code = (await allow(url)).searchParams.get("code")!;
    const tokens = await client.getToken({ code, redirect_uri: CALLBACK });
    expect(tokens.expired()).toBe(false);
    const fresh = await tokens.refresh();
    expect(await world.call(String(tokens.token["access_token"]), "/apps")).toMatchObject({ status: 401 });
    expect(await world.call(String(fresh.token["access_token"]), "/apps")).toMatchObject({ status: 200 });
    await expect(client.getToken({ code, redirect_uri: CALLBACK })).rejects.toMatchObject({
      data: { payload: { error: "invalid_grant" } },
    });
  });
});
