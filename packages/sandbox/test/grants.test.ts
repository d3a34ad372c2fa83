import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const invalidGrant = (reason: RegExp) => ({
  status: 400,
  body: { error: "invalid_grant", error_description: expect.stringMatching(reason) as string },
});

describe("a grant", () => {
  it("is exchanged once for the four members of a token response", async () => {
    await world.control.install();
    const { status, body } = await world.exchange(world.lastCode());
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "refresh_token", "token_type"]);
    expect(body).toMatchObject({ expires_in: 28_800, token_type: "Bearer" });
  });

  it("is refused while the partner has not answered the provision request", async () => {
    let early;
    world.partner.answers(async ({ body }) => {
      const { oauth_grant: grant, uuid } = JSON.parse(body) as {
        uuid: string;
        oauth_grant: { code: string };
      };
      early = await world.exchange(grant.code);
      return { status: 200, body: { id: uuid } };
    });
    await world.control.install();
    expect(early).toMatchObject(invalidGrant(/has not received a success answer/));
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 200 });
  });

  it.each([
    [false, invalidGrant(/answered with 201, which is no success/)],
    [true, { status: 200 }],
  ])("after an answer of 201, with acceptCreated %s", async (acceptCreated, exchanged) => {
    world.control.settings({ acceptCreated });
    world.partner.answers(({ body }) => ({ status: 201, body: { id: JSON.parse(body).uuid as string } }));
    await world.control.install().catch(() => undefined);
    expect(await world.exchange(world.lastCode())).toMatchObject(exchanged);
  });

  it("is refused for acceptDelayMs after the answer, then accepted", async () => {
    world.control.settings({ acceptDelayMs: 10_000 });
    await world.control.install();
    expect(await world.exchange(world.lastCode())).toMatchObject(invalidGrant(/not registered yet/));
    world.control.advanceClock(10);
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 200 });
  });

  it("is refused when it is 5 minutes old", async () => {
    const { addon } = await world.control.install();
    world.control.advanceClock(300);
    expect(await world.exchange(world.lastCode())).toMatchObject(invalidGrant(/older than 5 minutes/));
    expect(world.control.addon(addon.id).grant).toMatchObject({ state: "expired" });
  });

  it("is refused the second time", async () => {
    await world.control.install();
    await world.exchange(world.lastCode());
    expect(await world.exchange(world.lastCode())).toMatchObject(invalidGrant(/used a second time/));
  });

  it("answers the same tokens the second time with the replayTokens setting", async () => {
    world.control.settings({ replayTokens: true });
    await world.control.install();
    const first = await world.exchange(world.lastCode());
    expect((await world.exchange(world.lastCode())).body).toEqual(first.body);
  });

  it("is not affected by a wrong client secret", async () => {
    await world.control.install();
    const refused = await world.exchange(world.lastCode(), "wrong");
    expect(refused).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 200 });
  });

  it("has an expiry time with a numeric offset without a colon", async () => {
    await world.control.install();
    const { oauth_grant: grant } = JSON.parse(world.partner.requests[0]!.body) as {
      oauth_grant: { expires_at: string; type: string };
    };
    expect(grant.expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/);
    expect(grant.type).toBe("authorization_code");
  });
});
