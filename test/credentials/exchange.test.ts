import { interleavings } from "../support/interleavings.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { aGate } from "../support/a-vendor.ts";
import { eventually, opened } from "../support/world.ts";

const { moments, parts } = interleavings();
const life = opened(() => aLifecycle({ parts }));
afterEach(() => {
  life.control.clearFaults();
  life.control.settings({ acceptDelayMs: 0, replayTokens: false });
});

const install = async (plan = "basic") => (await life.control.install({ plan })).addon.id;
const becomes = (uuid: string, state: string) => life.becomes(uuid, { state });
const isTried = (uuid: string) =>
  life.becomes(uuid, { attempts: expect.any(Number), lastError: expect.any(String) });

describe("grant exchange", () => {
  it("happens once, after the answer to the provision has been sent", async () => {
    const since = life.position();
    const uuid = await install();
    await becomes(uuid, "active");
    const calls = life.entries(since).map(({ method, path }) => `${method} ${path}`);
    expect(calls.indexOf("POST /resources")).toBeLessThan(calls.indexOf("POST /oauth/token"));
    expect(life.tokenCalls(since)).toHaveLength(1);
  });

  it("retries while the platform has not registered our answer yet", async () => {
    life.control.settings({ acceptDelayMs: 1_800 });
    const uuid = await install();
    await becomes(uuid, "active");
  });

  it.each([
    ["the platform answers 503", { status: 503 }],
    ["it answers a page", { status: 200, body: "<html>", headers: { "content-type": "text/html" } }],
    ["the connection is reset before the platform saw the call", { reset: "before" as const }],
    ["the call is redirected elsewhere", { status: 307, headers: { location: "http://127.0.0.1:9/" } }],
  ])("is tried again when %s", async (_, action) => {
    life.control.fault("POST /oauth/token", action, 2);
    await becomes(await install(), "active");
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

  it("fails an asynchronous provision whose grant is lost, and cleans up", async () => {
    life.control.settings({ acceptDelayMs: 3_600_000 });
    const uuid = await install("dedicated");
    await isTried(uuid);
    await life.ageGrant(uuid);
    await eventually(async () => {
      expect(await life.resource(uuid)).toMatchObject({ state: "failed", answer_status: 422 });
      expect(await life.steps(uuid)).toEqual([]);
    });
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
        new RegExp(`"uuid":"${uuid}",.*"msg":"Tokens arrived after their lease was lost`),
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
