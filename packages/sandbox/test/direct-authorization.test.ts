import { aClient, CALLBACK } from "./web-flow.ts";
import { aWorld, stopTime, type TestWorld } from "./world.ts";

let world: TestWorld;
let token: string;
beforeEach(async () => {
  world = await aWorld();
  token = world.control.userToken("owner@example.com").token;
});
afterEach(() => world.close());

interface Authorization {
  id: string;
  access_token: { id: string; token: string; expires_in: number | null };
  refresh_token: { id: string; token: string; expires_in: number | null };
  grant: { id: string; code: string; expires_in: number };
  scope: string[];
}

const create = (json: object, by = token) =>
  world.call<Authorization>(by, "/oauth/authorizations", { method: "POST", json });
const revoke = (id: string, by = token) =>
  world.call<Authorization>(by, `/oauth/authorizations/${id}`, { method: "DELETE" });
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as string;
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string;

describe("a direct authorization", () => {
  it("is answered with 201 and the whole record, and its token does not expire", async () => {
    const { status, body } = await create({ description: "Backups", scope: ["global"] });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: uuid,
      description: "Backups",
      scope: ["global"],
      access_token: {
        id: uuid,
        token: expect.stringMatching(/^SVCK-.{60}$/) as string,
        expires_in: null,
      },
      refresh_token: { id: uuid, token: expect.any(String) as string, expires_in: null },
      grant: { id: uuid, code: expect.any(String) as string, expires_in: expect.any(Number) as number },
      client: null,
      user: { id: uuid, email: "owner@example.com", full_name: "owner" },
      created_at: time,
      updated_at: time,
    });
    world.control.advanceClock(365 * 24 * 3600);
    expect(await world.call(token, "/account")).toMatchObject({ status: 401 });
    expect(await world.call(body.access_token.token, "/account")).toMatchObject({ status: 200 });
  });

  it("can be limited in scope and time", async () => {
    const { body } = await create({ scope: ["read", "identity", "read"], expires_in: 60 });
    expect(body).toMatchObject({ scope: ["read", "identity"], access_token: { expires_in: 60 } });
    world.control.advanceClock(60);
    expect(await world.call(body.access_token.token, "/account")).toMatchObject({ status: 401 });
  });

  it("may be made for a client, which can refresh it", async () => {
    const monitor = aClient(world.sandbox);
    const { body } = await create({ client: monitor.id });
    expect(body).toHaveProperty("client", { id: monitor.id, name: "Monitor", redirect_uri: CALLBACK });
    expect(await monitor.refresh(body.refresh_token.token)).toMatchObject({ status: 201 });
    const alone = await create({});
    const refused = await monitor.refresh(alone.body.refresh_token.token);
    expect(refused).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  it.each([
    [null, null],
    [12 * 3600, 12 * 3600],
    ["43200", 12 * 3600],
  ])("with expires_in %j has tokens of %j seconds, also after a refresh", async (wish, expires_in) => {
    stopTime();
    const monitor = aClient(world.sandbox);
    const { body: made } = await create({ client: monitor.id, expires_in: wish });
    expect(made.access_token).toMatchObject({ expires_in });
    const { body } = await monitor.refresh(made.refresh_token.token);
    expect(body).toMatchObject({ expires_in });
    const isGood = async () => (await world.call(body.access_token, "/account")).status === 200;
    world.control.advanceClock(12 * 3600 - 1);
    expect(await isGood()).toBe(true);
    world.control.advanceClock(1);
    expect(await isGood()).toBe(expires_in === null);
  });

  it.each([
    { description: 5 },
    { scope: "global" },
    { scope: ["everything"] },
    { scope: [null] },
    { expires_in: -1 },
    { expires_in: "an hour" },
    { expires_in: "0" },
    { expires_in: "1.5" },
    { client: "unknown" },
    { client: {} },
  ])("is refused for %j, and nothing is created", async (json) => {
    expect(await create(json)).toMatchObject({ status: 422, body: { id: "invalid_params" } });
    expect((await world.call<unknown[]>(token, "/oauth/authorizations")).body).toHaveLength(1);
  });

  it("requires an API token, not a name and password", async () => {
    const authorization = `Basic ${Buffer.from("owner@example.com:password").toString("base64")}`;
    const refused = await world.call(token, "/oauth/authorizations", {
      method: "POST",
      json: {},
      headers: { authorization },
    });
    expect(refused).toMatchObject({
      status: 401,
      body: { message: expect.stringMatching(/password are not accepted/) as string },
    });
  });

  it("is refused with a partner's token, and with one that is not global", async () => {
    const partner = await world.installed();
    const refused = { status: 403, body: { id: "forbidden" } };
    expect(await create({}, partner.token)).toMatchObject(refused);
    for (const scope of ["identity", "read", "write", "read-protected", "write-protected"]) {
      const narrow = world.control.userToken("owner@example.com", { scope: [scope] }).token;
      expect(await create({}, narrow)).toMatchObject(refused);
    }
  });
});

describe("revoking an authorization", () => {
  it("answers the record and ends its tokens at once", async () => {
    const { body } = await create({ scope: ["global"] });
    expect(await revoke(body.id)).toMatchObject({ status: 200, body });
    expect(await world.call(body.access_token.token, "/account")).toMatchObject({
      status: 401,
      body: { id: "unauthorized", message: "The authorization was revoked." },
    });
    expect(await revoke(body.id)).toMatchObject({ status: 404 });
    expect(await world.call(token, "/account")).toMatchObject({ status: 200 });
  });

  it("ends a client's tokens, the refresh token too", async () => {
    const monitor = aClient(world.sandbox);
    const tokens = await monitor.tokens();
    const list = await world.call<Authorization[]>(token, "/oauth/authorizations");
    const given = list.body.find((one) => one.access_token.token === tokens.access_token)!;
    expect(given).toMatchObject({ client: { id: monitor.id }, scope: ["global"] });
    await revoke(given.id);
    expect(await world.call(tokens.access_token, "/account")).toMatchObject({ status: 401 });
    expect(await monitor.refresh(tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("is allowed only to the user who granted it", async () => {
    const { body } = await create({});
    const stranger = world.control.userToken("newcomer@example.com").token;
    expect(await revoke(body.id, stranger)).toMatchObject({ status: 404 });
    expect(await world.call(body.access_token.token, "/account")).toMatchObject({ status: 200 });
  });
});

it("a user can list and read their authorizations; a client sees only its own", async () => {
  const { body } = await create({ description: "Backups" });
  const list = await world.call<Authorization[]>(token, "/oauth/authorizations");
  expect(list.body.map(({ id }) => id)).toContain(body.id);
  expect(await world.call(token, `/oauth/authorizations/${body.id}`)).toMatchObject({ status: 200, body });
  const { access_token } = await aClient(world.sandbox).tokens();
  const clients = await world.call<Authorization[]>(access_token, "/oauth/authorizations");
  expect(clients.body.map((one) => one.access_token.token)).toEqual([access_token]);
  expect(await world.call(access_token, `/oauth/authorizations/${body.id}`)).toMatchObject({ status: 404 });
});

it("a token without the prefix works, and gets the prefix when it is regenerated", async () => {
  const old = world.control.userToken("owner@example.com", { prefix: false }).token;
  expect(old).not.toMatch(/^SVCK-/);
  expect(await world.call(old, "/account")).toMatchObject({ status: 200 });
  const { body: list } = await world.call<Authorization[]>(old, "/oauth/authorizations");
  const { id } = list.find((one) => one.access_token.token === old)!;
  const path = `/oauth/authorizations/${id}/actions/regenerate-tokens`;
  const { status, body } = await world.call<Authorization>(old, path, { method: "POST" });
  expect([status, body.access_token.token]).toEqual([200, expect.stringMatching(/^SVCK-.{60}$/)]);
  expect(await world.call(old, "/account")).toMatchObject({ status: 401 });
  expect(await world.call(body.access_token.token, "/account")).toMatchObject({ status: 200 });
});
