import { CALLBACK } from "./web-flow.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let token: string;
beforeEach(async () => {
  world = await aWorld();
  token = world.control.userToken().token;
});
afterEach(() => world.close());

interface Client {
  id: string;
  secret: string;
}

const wish = { name: "Monitor", redirect_uri: CALLBACK };
const register = (json: object = wish, by = token) =>
  world.call<Client>(by, "/oauth/clients", { method: "POST", json });
const one = ({ id }: { id: string }, init?: Parameters<typeof world.call>[2], by = token) =>
  world.call<Client>(by, `/oauth/clients/${id}`, init);
const rotate = ({ id }: Client) =>
  world.call<Client>(token, `/oauth/clients/${id}/actions/rotate-credentials`, { method: "POST" });

/** Tokens that a person gave to a client. */
async function tokensFor({ id, secret }: Client, scope = "identity") {
  const query = new URLSearchParams({ client_id: id, response_type: "code", scope });
  const location = world.control.authorize({ url: `/oauth/authorize?${query}` });
  const code = new URL(location).searchParams.get("code")!;
  return (await world.exchange(code, secret)).body;
}

describe("an OAuth client", () => {
  it("is registered with a name and an address, and its secret is shown once", async () => {
    const { status, body } = await register();
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      ...wish,
      ignores_delinquent: null,
      secret: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      created_at: expect.any(String) as string,
      updated_at: expect.any(String) as string,
    });
    const { secret: _secret, ...shown } = body;
    expect(await one(body)).toMatchObject({ status: 200, body: shown });
    const list = await world.call<Client[]>(token, "/oauth/clients");
    for (const answer of [await one(body), list]) expect(JSON.stringify(answer.body)).not.toMatch(/secret/);
    expect(list.body.map(({ id }) => id)).toEqual([body.id]);
    expect(await tokensFor(body)).toMatchObject({ token_type: "Bearer" });
  });

  it.each([
    { name: "Monitor" },
    { name: "", redirect_uri: CALLBACK },
    { name: "x".repeat(101), redirect_uri: CALLBACK },
    { name: "Monitor", redirect_uri: "/callback" },
    { name: "Monitor", redirect_uri: "javascript:alert(1)" },
    { name: "Monitor", redirect_uri: `${CALLBACK}#part` },
    { name: "Monitor", redirect_uri: `${CALLBACK} https://other.example.com` },
    { name: 5, redirect_uri: CALLBACK },
  ])("is not registered with %j", async (json) => {
    expect(await register(json)).toMatchObject({ status: 422, body: { id: "invalid_params" } });
    expect((await world.call<unknown[]>(token, "/oauth/clients")).body).toEqual([]);
  });

  it("can be changed by its owner only", async () => {
    const { body } = await register();
    const change = { method: "PATCH", json: { redirect_uri: "http://localhost:3000/oauth/callback" } };
    expect(await one(body, change)).toMatchObject({ status: 200, body: { name: "Monitor", ...change.json } });
    const stranger = world.control.userToken("newcomer@example.com").token;
    for (const init of [undefined, change, { method: "DELETE" }]) {
      expect(await one(body, init, stranger)).toMatchObject({ status: 404 });
    }
    const { token: partner } = await world.installed();
    expect(await register(wish, partner)).toMatchObject({ status: 403 });
    expect(await one(body, undefined, partner)).toMatchObject({ status: 403 });
  });

  it("loses every access token when its secret is reset; only the new secret refreshes", async () => {
    const { body: client } = await register();
    const other = (await register()).body;
    const [tokens, others] = [await tokensFor(client), await tokensFor(other)];
    const { status, body: rotated } = await rotate(client);
    expect([status, rotated.id]).toEqual([200, client.id]);
    expect(rotated.secret).not.toBe(client.secret);
    expect(await world.call(tokens.access_token, "/account")).toMatchObject({ status: 401 });
    expect(await world.call(others.access_token, "/account")).toMatchObject({ status: 200 });
    const former = await world.refresh(tokens.refresh_token, client.secret);
    expect(former).toMatchObject({
      status: 401,
      body: { error: "invalid_client", error_description: expect.stringMatching(/former/) as string },
    });
    const refreshed = await world.refresh(tokens.refresh_token, rotated.secret);
    expect(refreshed).toMatchObject({ status: 201, body: { refresh_token: tokens.refresh_token } });
    expect(await world.call(refreshed.body.access_token, "/account")).toMatchObject({ status: 200 });
    const shown = JSON.stringify(world.control.ledger());
    for (const secret of [client.secret, rotated.secret]) expect(shown).not.toContain(secret);
  });

  it("is deleted with everything it was given", async () => {
    const { body: client } = await register();
    const tokens = await tokensFor(client);
    expect(await one(client, { method: "DELETE" })).toMatchObject({ status: 200, body: { id: client.id } });
    expect(await world.call(tokens.access_token, "/account")).toMatchObject({ status: 401 });
    expect(await world.refresh(tokens.refresh_token, client.secret)).toMatchObject({ status: 401 });
    expect(await one(client)).toMatchObject({ status: 404 });
  });
});
