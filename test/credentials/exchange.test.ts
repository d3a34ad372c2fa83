import { jest } from "@jest/globals";
import { aGate } from "../support/a-vendor.ts";
import { interleavings } from "../support/interleavings.ts";
import { kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

const { moments, parts } = interleavings();
const life = opened(() => aLifecycle({ parts }));
afterEach(() => {
  life.control.clearFaults();
  life.control.settings({ acceptDelayMs: 0, replayTokens: false, plain401: "never" });
});

const install = async () => (await life.control.install({ plan: "basic" })).addon.id;
const becomes = (uuid: string, state: string) => life.becomes(uuid, { state });
const isTried = (uuid: string) =>
  life.becomes(uuid, { attempts: expect.any(Number), lastError: expect.any(String) });

describe("grant exchange", () => {
  it("retries while the platform has not registered our answer yet", async () => {
    life.control.settings({ acceptDelayMs: 1_800 });
    const uuid = await install();
    await becomes(uuid, "active");
  });

  it("stays outcome_unknown when the spent code is delivered again", async () => {
    life.control.fault("POST /oauth/token", { reset: "after" });
    const uuid = await install();
    await isTried(uuid);
    await life.ageGrant(uuid);
    await becomes(uuid, "grant_lost");
    await life.control.redeliver(uuid);
    await life.becomes(uuid, { lastError: expect.stringMatching(/invalid_grant/) });
    await life.ageGrant(uuid);
    expect(await becomes(uuid, "grant_lost")).toMatchObject({ reason: "outcome_unknown" });
  });

  it("ends as never_accepted when the platform refuses the code until its deadline; a redelivery revives it", async () => {
    life.control.settings({ acceptDelayMs: 3_600_000 });
    const uuid = await install();
    await life.becomes(uuid, { lastError: expect.stringMatching(/invalid_grant/) });
    await life.ageGrant(uuid);
    expect(await becomes(uuid, "grant_lost")).toMatchObject({ reason: "never_accepted" });
    life.control.settings({ acceptDelayMs: 0 });
    await life.control.redeliver(uuid, { newCode: true });
    await becomes(uuid, "active");
  });

  it("ends as expired when the platform cannot be reached until the deadline", async () => {
    life.control.fault("POST /oauth/token", { status: 503, body: { error: "temporarily_unavailable" } }, 50);
    const uuid = await install();
    await isTried(uuid);
    await life.ageGrant(uuid);
    expect(await becomes(uuid, "grant_lost")).toMatchObject({ reason: "expired" });
  });

  it("drops tokens that arrive after a deprovision", async () => {
    const { opened: arrives, open: arrive } = aGate();
    moments.set("answered exchange", () => arrives);
    const since = life.position();
    const uuid = await install();
    await eventually(() => expect(life.tokenCalls(since)).toHaveLength(1));
    expect((await life.control.deprovision(uuid)).response.status).toBe(204);
    arrive();
    await eventually(() =>
      expect(life.world.logged()).toMatch(
        new RegExp(
          `"uuid":"${uuid}",.*"msg":"Tokens dropped: they arrived after another process had taken the row`,
        ),
      ),
    );
    expect(await life.row(uuid)).toMatchObject({ state: "erased", sealed: 0 });
  });
});

it("a rejected client secret changes no row and stops the calls; work resumes once the right secret is known", async () => {
  const right = life.control.resetClientSecret().secret;
  const since = life.position();
  const uuids = await Promise.all([install(), install(), install()]);
  await eventually(() => expect(life.world.logged()).toMatch(/"alarm":"client_secret_rejected"/));
  for (const uuid of uuids)
    expect(await life.row(uuid)).toMatchObject({ state: "grant_pending", attempts: 0 });
  const calls = life.tokenCalls(since).length;
  expect(calls).toBeLessThanOrEqual(3);

  await life.world.restart({ environment: { CLIENT_SECRET: right } });
  for (const uuid of uuids) await becomes(uuid, "active");
  // The old value in the environment of an older process must not come back.
  await life.world.restart();
  const [current] = await life.world.rows(`SELECT max(version) AS version FROM client_secrets`);
  expect(current).toEqual({ version: 2 });
});

describe("where dead codes and tokens get a 401 without a reason, as a wrong client secret may", () => {
  beforeAll(async () => {
    const all = `SELECT uuid FROM resources WHERE state = 'provisioned'`;
    await forget((await life.world.rows<{ uuid: string }>(all)).map(({ uuid }) => uuid));
  });
  beforeEach(() => void life.control.settings({ plain401: "tokens" }));

  const states = (uuids: string[]) =>
    life.world.rows(
      `SELECT state, rejected_at IS NOT NULL AS refused FROM credentials WHERE uuid = ANY($1::uuid[]) ORDER BY 1, 2`,
      [uuids],
    );
  const NEWEST = `SELECT rejected_at IS NOT NULL AS rejected, is_presumed AS presumed FROM client_secrets ORDER BY version DESC LIMIT 1`;
  const secret = async () => (await life.world.rows(NEWEST))[0];
  const WORKS = { rejected: false, presumed: false };
  const PRESUMED = { rejected: true, presumed: true };
  const active = { state: "active", refused: false };

  /** Tokens that the platform has ended are not looked at by the tests that follow. */
  const forget = (uuids: string[]) => Promise.all(uuids.map((uuid) => life.control.deprovision(uuid)));

  it("that is for eight codes stops no grant: each later one is exchanged, and shows that the secret works", async () => {
    life.control.settings({ acceptDelayMs: 3_600_000 });
    const dead = await life.install(8);
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    await eventually(async () =>
      expect(await states(dead)).toEqual(Array(8).fill({ state: "grant_pending", refused: true })),
    );
    life.control.settings({ acceptDelayMs: 0 });
    const good = await life.world.installed(3);
    expect(await states(good)).toEqual([active, active, active]);
    expect(await secret()).toEqual(WORKS);
    await forget([...dead, ...good]);
  });

  it("that is for two refresh tokens counts again at each retry, unless somebody succeeded since the first one", async () => {
    const uuids = await life.world.installed(2);
    for (const uuid of uuids) life.control.revoke(uuid, "refresh");
    const retry = (secondsAgo: number) => life.world.forged.tokensAreRefusedSince(uuids, secondsAgo);
    const refused = () =>
      eventually(async () =>
        expect(
          await life.world.rows(
            `SELECT uuid FROM credentials WHERE uuid = ANY($1::uuid[]) AND state = 'active' AND attempts = 4`,
            [uuids],
          ),
        ).toHaveLength(2),
      );
    await retry(600);
    await refused();
    expect(await secret()).toEqual(WORKS);
    await retry(0);
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    await forget([...uuids, ...(await life.world.installed(1))]);
  });

  it("that is for several refresh tokens is taken for a wrong client secret; any success clears it", async () => {
    const uuids = await life.world.installed(6);
    for (const uuid of uuids.slice(1)) life.control.revoke(uuid, "refresh");
    const alarms = life.world.lines(`"alarm":"client_secret_rejected"`).length;
    const since = life.position();
    await life.makeDue(uuids.slice(1));
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    await eventually(() =>
      expect(life.world.lines(`"alarm":"client_secret_rejected"`).length).toBeGreaterThan(alarms),
    );
    // Only the first was recorded as a refusal of its token; the others wait as they were.
    await eventually(async () =>
      expect((await states(uuids)).filter((row) => row["refused"])).toHaveLength(1),
    );
    expect(life.tokenCalls(since).length).toBeLessThan(20);
    await life.makeDue([uuids[0]!]);
    await life.world.forged.secretMayBeTried();
    await life.becomes(uuids[0]!, { generation: 2 });
    await forget(uuids);
  });

  it("kit secret set takes the right one after a reset, with a warning, and the grants that wait are exchanged", async () => {
    life.control.settings({ plain401: "always" });
    const uuids = await life.world.installed(3);
    const { secret: value } = life.control.resetClientSecret();
    const waiting = await life.install(1);
    await life.makeDue(uuids);
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    expect(await kitJson(life.world.environment, ["secret", "set"], value)).toEqual({
      code: 0,
      data: expect.objectContaining({ fresh: 3, unconfirmed: expect.stringContaining("answered 401") }),
    });
    await life.world.quiet(waiting);
    expect(await states([...uuids, ...waiting])).toEqual(Array(4).fill(active));
    expect(await secret()).toEqual(WORKS);
    await forget([...uuids, ...waiting]);
  });

  it("that is for two codes counts again at each retry, also a minute later", async () => {
    const good = await life.world.installed(1);
    life.control.settings({ acceptDelayMs: 3_600_000 });
    const now = performance.now.bind(performance);
    const dead = await life.install(1);
    await life.becomes(dead[0]!, { isRefused: true });
    expect(await secret()).toEqual(WORKS);
    // A clock never goes back, so no test follows.
    jest.spyOn(performance, "now").mockImplementation(() => now() + 61_000);
    dead.push(...(await life.install(1)));
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    life.control.settings({ acceptDelayMs: 0 });
    await forget([...dead, ...good, ...(await life.world.installed(1))]);
  });
});
