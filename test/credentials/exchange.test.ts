import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

let world: World;
/** Delays an answer of the token endpoint after the platform has given it. */
let onTheWay = Promise.resolve();
beforeAll(async () => {
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    async exchange(...args) {
      const answer = await endpoint.exchange(...args);
      await onTheWay;
      return answer;
    },
  });
  world = await aWorld({ parts: { wrapTokenEndpoint } });
});
afterAll(() => world.close());
afterEach(() => {
  world.sandbox.control.clearFaults();
  world.sandbox.control.settings({ acceptDelayMs: 0, replayTokens: false });
});

const install = async (plan = "basic") => (await world.sandbox.control.install({ plan })).addon.id;

async function credential(uuid: string) {
  const [row] = await world.rows<{
    state: string;
    reason: string | null;
    attempts: number;
    last_error: string | null;
  }>(`SELECT state, reason, attempts, last_error FROM credentials WHERE uuid = $1`, [uuid]);
  return row!;
}

const becomes = (uuid: string, state: string) =>
  eventually(async () => {
    const found = await credential(uuid);
    expect(found.state).toBe(state);
    return found;
  });

/** Exchange calls since the ledger stood at `since`. */
const exchanges = (since: number) =>
  world.sandbox.control
    .ledger({ since, reveal: true })
    .entries.filter(({ direction, path }) => direction === "in" && path === "/oauth/token")
    .filter(({ request }) => JSON.stringify(request.body).includes("authorization_code"));

const position = () => world.sandbox.control.ledger().next;

/** Ends the five minutes of the grant. */
const ageGrant = (uuid: string) =>
  world.rows(
    `UPDATE credentials SET grant_deadline = now() - interval '1 second', due_at = now() - interval '1 second' WHERE uuid = $1`,
    [uuid],
  );

describe("grant exchange", () => {
  it("happens once, after the answer to the provision has been sent", async () => {
    const since = position();
    const uuid = await install();
    await becomes(uuid, "active");
    const calls = world.sandbox.control
      .ledger({ since })
      .entries.map(({ method, path }) => `${method} ${path}`);
    expect(calls.indexOf("POST /resources")).toBeLessThan(calls.indexOf("POST /oauth/token"));
    expect(exchanges(since)).toHaveLength(1);
  });

  it("retries while the platform has not registered our answer yet", async () => {
    world.sandbox.control.settings({ acceptDelayMs: 1_800 });
    const uuid = await install();
    await becomes(uuid, "active");
  });

  it.each([
    ["the platform answers 503", { status: 503 }],
    [
      "the platform answers an HTML page with 200",
      { status: 200, body: "<html>", headers: { "content-type": "text/html" } },
    ],
    ["the connection is reset before the platform saw the call", { reset: "before" as const }],
    ["the call is redirected elsewhere", { status: 307, headers: { location: "http://127.0.0.1:9/" } }],
  ])("is tried again when %s", async (_, action) => {
    world.sandbox.control.fault("POST /oauth/token", action, 2);
    await becomes(await install(), "active");
  });

  it("stores the tokens after a lost answer if the platform replays it", async () => {
    world.sandbox.control.settings({ replayTokens: true });
    world.sandbox.control.fault("POST /oauth/token", { reset: "after" });
    await becomes(await install(), "active");
  });

  it("stays outcome_unknown when the spent code is delivered again", async () => {
    world.sandbox.control.fault("POST /oauth/token", { reset: "after" });
    const uuid = await install();
    await eventually(async () => expect((await credential(uuid)).attempts).toBeGreaterThan(0));
    await ageGrant(uuid);
    await becomes(uuid, "grant_lost");
    await world.sandbox.control.redeliver(uuid);
    await eventually(async () => expect((await credential(uuid)).last_error).toMatch(/invalid_grant/));
    await ageGrant(uuid);
    expect(await becomes(uuid, "grant_lost")).toMatchObject({ reason: "outcome_unknown" });
  });

  it("ends as never_accepted when the platform refuses the code until its deadline; a redelivery revives it", async () => {
    world.sandbox.control.settings({ acceptDelayMs: 3_600_000 });
    const uuid = await install();
    await eventually(async () => expect((await credential(uuid)).last_error).toMatch(/invalid_grant/));
    await ageGrant(uuid);
    expect(await becomes(uuid, "grant_lost")).toMatchObject({ reason: "never_accepted" });
    world.sandbox.control.settings({ acceptDelayMs: 0 });
    await world.sandbox.control.redeliver(uuid, { newCode: true });
    await becomes(uuid, "active");
  });

  it("ends as expired when the platform cannot be reached until the deadline", async () => {
    world.sandbox.control.fault(
      "POST /oauth/token",
      { status: 503, body: { error: "temporarily_unavailable" } },
      50,
    );
    const uuid = await install();
    await eventually(async () => expect((await credential(uuid)).attempts).toBeGreaterThan(0));
    await ageGrant(uuid);
    expect(await becomes(uuid, "grant_lost")).toMatchObject({ reason: "expired" });
  });

  it("fails an asynchronous provision whose grant is lost, and cleans up", async () => {
    world.sandbox.control.settings({ acceptDelayMs: 3_600_000 });
    const uuid = await install("dedicated");
    await eventually(async () => expect((await credential(uuid)).attempts).toBeGreaterThan(0));
    await ageGrant(uuid);
    await eventually(async () => {
      const [resource] = await world.rows(`SELECT state, answer_status FROM resources WHERE uuid = $1`, [
        uuid,
      ]);
      expect(resource).toEqual({ state: "failed", answer_status: 422 });
      expect(await world.rows(`SELECT kind FROM steps WHERE uuid = $1`, [uuid])).toEqual([]);
    });
  });

  it("drops tokens that arrive after a deprovision", async () => {
    let arrive = () => {};
    onTheWay = new Promise((resolve) => (arrive = resolve));
    const since = position();
    const uuid = await install();
    await eventually(() => expect(exchanges(since)).toHaveLength(1));
    expect((await world.sandbox.control.deprovision(uuid)).response.status).toBe(204);
    arrive();
    await eventually(() =>
      expect(world.logged()).toMatch(
        new RegExp(`"uuid":"${uuid}","msg":"Tokens arrived after their lease was lost`),
      ),
    );
    const [row] = await world.rows(
      `SELECT state, sealed_access_token, sealed_refresh_token, sealed_grant_code FROM credentials WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({
      state: "erased",
      sealed_access_token: null,
      sealed_refresh_token: null,
      sealed_grant_code: null,
    });
  });
});

describe("a rejected client secret", () => {
  it("changes no row and stops the calls; work resumes once the right secret is known", async () => {
    const right = world.sandbox.control.resetClientSecret().secret;
    const since = position();
    const uuids = await Promise.all([install(), install(), install()]);
    await eventually(() => expect(world.logged()).toMatch(/"alarm":"client_secret_rejected"/));
    for (const uuid of uuids)
      expect(await credential(uuid)).toMatchObject({ state: "grant_pending", attempts: 0 });
    const calls = exchanges(since).length;
    expect(calls).toBeLessThanOrEqual(3);

    await world.restart({ environment: { CLIENT_SECRET: right } });
    for (const uuid of uuids) await becomes(uuid, "active");
    // The old value in the environment of an older process must not come back.
    await world.restart();
    const [current] = await world.rows(`SELECT max(version) AS version FROM client_secrets`);
    expect(current).toEqual({ version: 2 });
  });
});
