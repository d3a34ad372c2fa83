import { jest } from "@jest/globals";
import { createCredentials } from "../../src/credentials/credentials.ts";
import { shareOfLife } from "../../src/credentials/verdict.ts";
import { refreshTokens } from "../../src/operator/tokens.ts";
import { aGate } from "../support/a-vendor.ts";
import { interleavings } from "../support/interleavings.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

const { moments, parts } = interleavings();
// Sweeps run when a test asks for them.
const life = opened(() => aLifecycle({ environment: { SWEEP_CRON: "*/15 * * * * *" }, parts }));
afterEach(() => {
  moments.clear();
  life.control.clearFaults();
  life.control.settings({
    expiresIn: 28_800,
    refreshToken: "same",
    refreshStatus: 201,
    thirdPartyOAuth: true,
  });
});

const makeDue = async (uuid: string) => {
  await life.makeDue([uuid]);
  life.world.service.services.jobs.wake("refresh-tokens");
};
const hasGeneration = (uuid: string, generation: number) => life.becomes(uuid, { generation });
const says = (words: string) => eventually(() => expect(life.world.logged()).toMatch(new RegExp(words)));

describe("refresh of a token", () => {
  it("falls due at 45 to 55 % of its life, which is 8 hours whatever the platform claims", async () => {
    life.control.settings({ expiresIn: 2_592_000 });
    const { life: seconds, due } = await life.row(await life.settled());
    expect(seconds).toBe(28_800);
    expect(due / seconds).toBeGreaterThanOrEqual(0.45);
    expect(due / seconds).toBeLessThanOrEqual(0.55);
  });

  it("of many that were issued at once falls due in no minute more than twice as often as in the mean", () => {
    const minutes = new Map<number, number>();
    for (let one = 0; one < 10_000; one++) {
      const minute = Math.floor(shareOfLife() * 480);
      minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
    }
    expect(Math.max(...minutes.values())).toBeLessThanOrEqual((2 * 10_000) / 48);
  });

  it("happens by itself before the token expires", async () => {
    life.control.settings({ expiresIn: 4 });
    const [uuid] = (await life.install(1)) as [string];
    await eventually(async () => expect((await life.row(uuid)).generation).toBeGreaterThanOrEqual(1));
    life.control.settings({ expiresIn: 28_800 });
    await eventually(async () => expect((await life.row(uuid)).generation).toBeGreaterThanOrEqual(2));
    expect(life.control.addon(uuid).tokens.at(-1)).toMatchObject({ state: "valid" });
  });

  it.each(["same", "new", "none"] as const)(
    "keeps working when the platform answers %s refresh token",
    async (refreshToken) => {
      life.control.settings({ refreshToken, refreshStatus: 200 });
      const uuid = await life.settled();
      for (const generation of [2, 3]) {
        await makeDue(uuid);
        await hasGeneration(uuid, generation);
      }
      await life.own(uuid);
      // A refresh may answer no refresh token: the stored one stays valid.
      expect(await life.row(uuid)).toMatchObject({ flags: [] });
    },
  );

  it("makes callers that find the old token dead wait until the new one is stored", async () => {
    const uuid = await life.settled();
    const since = life.position();
    let call: Promise<{ id: string }> | null = null;
    moments.set("answered refresh", () => {
      call = life.own(uuid);
      call.catch(() => undefined);
      return eventually(() => life.entries(since).some(({ response }) => response?.status === 401));
    });
    await makeDue(uuid);
    await hasGeneration(uuid, 2);
    expect((await call!).id).toBe(uuid);
    expect(life.tokenCalls(since)).toHaveLength(1);
  });

  it("is repeated with the same refresh token when the answer was lost", async () => {
    const uuid = await life.settled();
    life.control.fault("POST /oauth/token", { reset: "after" });
    await makeDue(uuid);
    await says(`"uuid":"${uuid}","outcome":"unknown"`);
    await hasGeneration(uuid, 2);
    await life.own(uuid);
  });

  it("quarantines a row whose key is missing, refreshes the others, and takes it back with the key", async () => {
    const [uuid, healthy] = [await life.settled(), await life.settled()];
    const changeKeyId = () => life.damage(uuid, "sealed_refresh_token", 3);
    await changeKeyId();
    await life.makeDue([uuid]);
    await makeDue(healthy);
    await life.becomes(uuid, { state: "quarantined" });
    await hasGeneration(healthy, 2);
    await changeKeyId();
    life.world.service.services.jobs.wake("reopen-quarantined");
    await life.becomes(uuid, { state: "active" });
    life.world.service.services.jobs.wake("refresh-tokens");
    await hasGeneration(uuid, 2);
  });

  it("on request, refreshes a quarantined row whose refresh token can be decrypted", async () => {
    const uuid = await life.settled();
    await life.damage(uuid, "sealed_access_token");
    await expect(life.own(uuid)).rejects.toThrow(/cannot be decrypted/);
    const ask = () =>
      refreshTokens(life.world.service.services, [uuid], { signal: new AbortController().signal });
    const quarantined = { state: "quarantined", isLeased: false, dueIn: null };
    life.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    expect((await ask()).failed).toMatchObject([{ uuid, id: "invalid_grant" }]);
    expect(await life.row(uuid)).toMatchObject(quarantined);
    await life.damage(uuid, "sealed_refresh_token");
    expect((await ask()).failed).toMatchObject([{ uuid, id: "quarantined" }]);
    expect(await life.row(uuid)).toMatchObject(quarantined);
    await life.damage(uuid, "sealed_refresh_token");
    expect(await ask()).toEqual({ done: [uuid], failed: [], skipped: [] });
    await life.expectAlive([uuid]);
  });

  it("quarantines a row whose access token belongs to another resource, without a call", async () => {
    const [one, other] = [await life.settled(), await life.settled()];
    await life.world.forged.accessTokenIsThatOf(one, other);
    const since = life.position();
    await expect(life.own(one)).rejects.toThrow(/cannot be decrypted/);
    expect(life.entries(since)).toEqual([]);
    expect(await life.row(one)).toMatchObject({ state: "quarantined" });
  });

  it("replaces the stored token at its first 401 when a success arrived after its lease was lost", async () => {
    const uuid = await life.settled();
    const { opened: arrives, open: arrive } = aGate();
    moments.set("answered refresh", () => arrives);
    const since = life.position();
    await makeDue(uuid);
    await eventually(() => expect(life.tokenCalls(since)).toHaveLength(1));
    // Another process takes over, as after a freeze, and updates the row while this answer is still under way.
    await life.world.forged.tokensAreDoneByAnother(uuid);
    arrive();
    await says(`"uuid":"${uuid}","msg":"Tokens dropped`);
    // The stored token is the one that the late answer invalidated.
    await life.expectAlive([uuid]);
    await hasGeneration(uuid, 2);
    expect(life.control.addon(uuid).tokens.filter(({ state }) => state === "valid")).toHaveLength(1);
  });
});

describe("a call to the platform with a dead token", () => {
  it("causes one refresh, however many callers found it dead", async () => {
    const uuid = await life.settled();
    life.control.revoke(uuid, "access");
    const since = life.position();
    const addons = await Promise.all(Array.from({ length: 50 }, () => life.own(uuid)));
    expect(new Set(addons.map(({ id }) => id))).toEqual(new Set([uuid]));
    expect(life.tokenCalls(since)).toHaveLength(1);
  });

  it("causes no refresh on a 403: the call fails, and works once the team allows it again", async () => {
    const { control, world } = life;
    const app = control.createApp({ team: "makers" });
    const { addon } = await control.install({ app: app.id, plan: "basic" });
    await world.quiet([addon.id]);
    control.settings({ thirdPartyOAuth: false });
    const since = life.position();
    const call = () => life.world.service.services.platformFor(addon.id).apps.get(app.id);
    await expect(call()).rejects.toMatchObject({ status: 403, id: "forbidden" });
    expect(life.tokenCalls(since)).toHaveLength(0);
    control.settings({ thirdPartyOAuth: true });
    expect((await call()).id).toBe(app.id);
  });

  it("is no call with a dead one while a grant is recovered; until then the older pair's token works", async () => {
    const uuid = await life.settled();
    await life.world.forged.grantIsPending(uuid, { leftSeconds: 3_600, inSeconds: 3_600 });
    await life.expectAlive([uuid]);
    life.control.revoke(uuid, "access");
    await expect(life.own(uuid)).rejects.toMatchObject({ id: "grant_pending", isFinal: false });
    await life.world.forged.tokensExpired(uuid);
    await expect(life.own(uuid)).rejects.toMatchObject({ id: "grant_pending", isFinal: false });
    await life.control.deprovision(uuid);
  });

  it("refreshes an expired token on use", async () => {
    const uuid = await life.settled();
    await life.world.forged.tokensExpired(uuid);
    await life.world.forged.tokensAreDueIn(uuid, 3_600);
    await life.expectAlive([uuid]);
    expect((await life.row(uuid)).generation).toBe(2);
  });
});

it("an outage is counted by the refreshes that fail, not by looks at what is due", () => {
  let counted = 0;
  const ctx = { ...life.world.service.services, metrics: { breakerOpens: () => void (counted += 1) } };
  const { breaker } = createCredentials(ctx, ctx.credentials.endpoint);
  const clock = jest.spyOn(performance, "now");
  for (let failure = 1; failure <= 5; failure++) breaker.failed();
  expect(counted).toBe(1);
  for (const minute of [1, 2]) {
    clock.mockReturnValue(performance.timeOrigin + minute * 60_000);
    expect([breaker.allowance(), breaker.allowance()]).toEqual([1, 0]);
  }
  clock.mockRestore();
  expect(counted).toBe(1);
  breaker.failed();
  expect(counted).toBe(2);
});
