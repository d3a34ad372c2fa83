import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { refreshTokens } from "../../src/operator/tokens.ts";
import { aWorld, eventually, type World } from "../support/world.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";

let world: World;
/** Delays an answer to a refresh after the platform has given it. */
let onTheWay: Promise<void> = Promise.resolve();
beforeAll(async () => {
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    async refresh(...args) {
      const held = onTheWay;
      const answer = await endpoint.refresh(...args);
      await held;
      return answer;
    },
  });
  world = await aWorld({ parts: { wrapTokenEndpoint } });
});
afterAll(() => world.close());
afterEach(() => {
  onTheWay = Promise.resolve();
  world.sandbox.control.clearFaults();
  world.sandbox.control.settings({ expiresIn: 28_800, refreshToken: "same", refreshStatus: 201 });
  world.sandbox.control.settings({ thirdPartyOAuth: true });
});

async function anActiveResource(): Promise<string> {
  return world.settled();
}

async function credential(uuid: string) {
  const [row] = await world.rows<{
    state: string;
    generation: number;
    life: number;
    due: number;
    rejected: boolean;
    attempts: number;
  }>(
    `SELECT state, generation, attempts, rejected_at IS NOT NULL AS rejected,
       extract(epoch FROM expires_at - issued_at)::float8 AS life, extract(epoch FROM due_at - issued_at)::float8 AS due
     FROM credentials WHERE uuid = $1`,
    [uuid],
  );
  return row!;
}

const makeDue = async (uuid: string) => {
  await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [uuid]);
  world.service.services.jobs.wake("refresh-tokens");
};

const hasGeneration = (uuid: string, generation: number) =>
  eventually(async () => expect((await credential(uuid)).generation).toBe(generation));

const position = () => world.sandbox.control.ledger().next;
const refreshes = (since: number) =>
  world.sandbox.control
    .ledger({ since, reveal: true })
    .entries.filter(
      ({ path, request }) =>
        path === "/oauth/token" && JSON.stringify(request.body).includes('"refresh_token"'),
    );

const platform = (uuid: string) => world.service.services.platformFor(uuid);

describe("refresh of a token", () => {
  it("falls due at 45 to 55 % of its life, which is 8 hours whatever the platform claims", async () => {
    world.sandbox.control.settings({ expiresIn: 2_592_000 });
    const { life, due } = await credential(await anActiveResource());
    expect(life).toBe(28_800);
    expect(due / life).toBeGreaterThanOrEqual(0.45);
    expect(due / life).toBeLessThanOrEqual(0.55);
  });

  it("happens by itself before the token expires", async () => {
    world.sandbox.control.settings({ expiresIn: 4 });
    const { addon } = await world.sandbox.control.install({ plan: "basic" });
    const uuid = addon.id;
    await eventually(async () => expect((await credential(uuid)).generation).toBeGreaterThanOrEqual(1));
    world.sandbox.control.settings({ expiresIn: 28_800 });
    await eventually(async () => expect((await credential(uuid)).generation).toBeGreaterThanOrEqual(2));
    expect(world.sandbox.control.addon(uuid).tokens.at(-1)).toMatchObject({ state: "valid" });
  });

  it.each(["same", "new", "none"] as const)(
    "keeps working when the platform answers %s refresh token",
    async (refreshToken) => {
      world.sandbox.control.settings({ refreshToken, refreshStatus: 200 });
      const uuid = await anActiveResource();
      for (const generation of [2, 3]) {
        await makeDue(uuid);
        await hasGeneration(uuid, generation);
      }
      await platform(uuid).addons.own();
      // A refresh may answer no refresh token: the stored one stays valid.
      expect(await world.rows(`SELECT flags FROM credentials WHERE uuid = $1`, [uuid])).toEqual([
        { flags: [] },
      ]);
    },
  );

  it("is repeated with the same refresh token when the answer was lost", async () => {
    const uuid = await anActiveResource();
    world.sandbox.control.fault("POST /oauth/token", { reset: "after" });
    await makeDue(uuid);
    await eventually(async () =>
      expect(world.logged()).toMatch(new RegExp(`"uuid":"${uuid}","outcome":"unknown"`)),
    );
    await hasGeneration(uuid, 2);
    await platform(uuid).addons.own();
  });

  it("raises an alarm when the platform refuses it for another reason than its token", async () => {
    const uuid = await anActiveResource();
    world.sandbox.control.fault("POST /oauth/token", { status: 403, body: { id: "suspended" } });
    await makeDue(uuid);
    await eventually(() =>
      expect(world.logged()).toMatch(new RegExp(`"alarm":"refresh_misunderstood","uuid":"${uuid}"`)),
    );
    expect(await credential(uuid)).toMatchObject({ state: "active" });
  });

  it("quarantines a row whose token cannot be decrypted, and continues with the others", async () => {
    const [poisoned, healthy] = [await anActiveResource(), await anActiveResource()];
    await world.rows(
      `UPDATE credentials SET sealed_refresh_token = set_byte(sealed_refresh_token, 60, get_byte(sealed_refresh_token, 60) # 1),
         due_at = now() - interval '1 hour' WHERE uuid = $1`,
      [poisoned],
    );
    await makeDue(healthy);
    await hasGeneration(healthy, 2);
    await eventually(async () => expect(await credential(poisoned)).toMatchObject({ state: "quarantined" }));
  });

  it("takes a row out of quarantine when its missing key is available again", async () => {
    const uuid = await anActiveResource();
    const flipKeyId = () =>
      world.rows(
        `UPDATE credentials SET sealed_refresh_token = set_byte(sealed_refresh_token, 3, get_byte(sealed_refresh_token, 3) # 1)
         WHERE uuid = $1`,
        [uuid],
      );
    await flipKeyId();
    await makeDue(uuid);
    await eventually(async () => expect((await credential(uuid)).state).toBe("quarantined"));
    await flipKeyId();
    world.service.services.jobs.wake("reopen-quarantined");
    await eventually(async () => expect((await credential(uuid)).state).toBe("active"));
    world.service.services.jobs.wake("refresh-tokens");
    await hasGeneration(uuid, 2);
  });

  it("quarantines a row whose access token belongs to another resource, without a call", async () => {
    const [one, other] = [await anActiveResource(), await anActiveResource()];
    await world.rows(
      `UPDATE credentials SET sealed_access_token = (SELECT sealed_access_token FROM credentials WHERE uuid = $2) WHERE uuid = $1`,
      [one, other],
    );
    const since = position();
    await expect(platform(one).addons.own()).rejects.toThrow(/cannot be decrypted/);
    expect(world.sandbox.control.ledger({ since }).entries).toEqual([]);
    expect(await credential(one)).toMatchObject({ state: "quarantined" });
  });

  it("on request, refreshes a quarantined row whose refresh token can be decrypted", async () => {
    const uuid = await anActiveResource();
    const flip = (column: string) =>
      world.rows(
        `UPDATE credentials SET ${column} = set_byte(${column}, 60, get_byte(${column}, 60) # 1) WHERE uuid = $1`,
        [uuid],
      );
    await flip("sealed_access_token");
    await expect(platform(uuid).addons.own()).rejects.toThrow(/cannot be decrypted/);
    const ctx = world.service.services;
    const how = { signal: new AbortController().signal };
    const free = async () =>
      (await world.rows(`SELECT state, leased_until, due_at FROM credentials WHERE uuid = $1`, [uuid]))[0];
    const aside = { state: "quarantined", leased_until: null, due_at: null };
    world.sandbox.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    expect((await refreshTokens(ctx, [uuid], how)).failed).toMatchObject([{ uuid, id: "invalid_grant" }]);
    expect(await free()).toEqual(aside);
    await flip("sealed_refresh_token");
    expect((await refreshTokens(ctx, [uuid], how)).failed).toMatchObject([{ uuid, id: "quarantined" }]);
    expect(await free()).toEqual(aside);
    await flip("sealed_refresh_token");
    expect(await refreshTokens(ctx, [uuid], how)).toEqual({ done: [uuid], failed: [], skipped: [] });
    expect((await platform(uuid).addons.own()).id).toBe(uuid);
  });

  it("replaces the stored token at its first 401 when a success arrived after its lease was lost", async () => {
    const uuid = await anActiveResource();
    let arrive = () => {};
    onTheWay = new Promise((resolve) => (arrive = resolve));
    const since = position();
    await makeDue(uuid);
    await eventually(() => expect(refreshes(since)).toHaveLength(1));
    // Another process takes over, as after a freeze, and updates the row while this answer is still under way.
    await world.rows(
      `UPDATE credentials SET lease = lease + 1, leased_until = NULL, sent_at = NULL, due_at = now() + interval '1 hour' WHERE uuid = $1`,
      [uuid],
    );
    onTheWay = Promise.resolve();
    arrive();
    await eventually(() =>
      expect(world.logged()).toMatch(new RegExp(`"uuid":"${uuid}","msg":"Tokens arrived`)),
    );
    // The stored token is the one that the late answer invalidated.
    expect((await platform(uuid).addons.own()).id).toBe(uuid);
    await hasGeneration(uuid, 2);
    expect(world.sandbox.control.addon(uuid).tokens.filter(({ state }) => state === "valid")).toHaveLength(1);
  });
});

describe("a call to the platform with a dead token", () => {
  it("causes one refresh, however many callers found it dead", async () => {
    const uuid = await anActiveResource();
    world.sandbox.control.revoke(uuid, "access");
    const since = position();
    const addons = await Promise.all(Array.from({ length: 50 }, () => platform(uuid).addons.own()));
    expect(new Set(addons.map(({ id }) => id))).toEqual(new Set([uuid]));
    expect(refreshes(since)).toHaveLength(1);
  });

  it("causes no second refresh by a caller that read the token before it was replaced", async () => {
    const uuid = await anActiveResource();
    await makeDue(uuid);
    await hasGeneration(uuid, 2);
    const since = position();
    expect(await refreshNow(world.service.services, uuid, 1)).toEqual({ done: "busy" });
    expect(refreshes(since)).toHaveLength(0);
    expect(await refreshNow(world.service.services, uuid, 2)).toMatchObject({ done: "stored" });
  });

  it("gives up after two forced refreshes when the platform refuses fresh tokens too", async () => {
    const uuid = await anActiveResource();
    world.sandbox.control.fault(
      `GET /addons/${uuid}`,
      { status: 401, body: { id: "unauthorized", message: "No." } },
      20,
    );
    const since = position();
    for (let call = 0; call < 4; call++) await expect(platform(uuid).addons.own()).rejects.toThrow();
    expect(refreshes(since)).toHaveLength(2);
  });

  it("causes no refresh on a 403: the call fails, and works once the team allows it again", async () => {
    const { control } = world.sandbox;
    const app = control.createApp({ team: "makers" });
    const { addon } = await control.install({ app: app.id, plan: "basic" });
    await world.quiet([addon.id]);
    control.settings({ thirdPartyOAuth: false });
    const since = position();
    const call = () => platform(addon.id).apps.get(app.id);
    await expect(call()).rejects.toMatchObject({ status: 403, id: "forbidden" });
    expect(refreshes(since)).toHaveLength(0);
    control.settings({ thirdPartyOAuth: true });
    expect((await call()).id).toBe(app.id);
  });

  it("stores the refreshed token when the service stops and the caller no longer waits", async () => {
    const uuid = await anActiveResource();
    world.sandbox.control.settings({ refreshToken: "new" });
    let arrive = () => {};
    onTheWay = new Promise((resolve) => (arrive = resolve));
    const since = position();
    void refreshNow(world.service.services, uuid).catch(() => undefined);
    await eventually(() => expect(refreshes(since)).toHaveLength(1));
    const restarted = world.restart();
    setTimeout(arrive, 500);
    await restarted;
    expect((await credential(uuid)).generation).toBe(2);
    expect(await platform(uuid).addons.own()).toMatchObject({ id: uuid });
    expect(await refreshNow(world.service.services, uuid)).toMatchObject({ done: "stored" });
  });

  it("refreshes an expired token on use", async () => {
    const uuid = await anActiveResource();
    await world.rows(
      `UPDATE credentials SET expires_at = now() - interval '1 hour', due_at = now() + interval '1 hour' WHERE uuid = $1`,
      [uuid],
    );
    expect((await platform(uuid).addons.own()).id).toBe(uuid);
    expect((await credential(uuid)).generation).toBe(2);
  });
});

describe("reset of the client secret", () => {
  it("makes exactly the tokens of the older secret due, and the resources work again", async () => {
    const uuids = [await anActiveResource(), await anActiveResource(), await anActiveResource()];
    const before = await Promise.all(uuids.map(credential));
    const { secret } = world.sandbox.control.resetClientSecret();
    await world.restart({ environment: { CLIENT_SECRET: secret } });
    for (const [index, uuid] of uuids.entries()) await hasGeneration(uuid, before[index]!.generation + 1);
    for (const uuid of uuids) expect((await platform(uuid).addons.own()).id).toBe(uuid);
  });
});
