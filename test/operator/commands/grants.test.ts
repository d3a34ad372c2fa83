import type { Report } from "../../../src/operator/work-through.ts";
import { kitJson } from "../../support/kit.ts";
import { aLifecycle } from "../../support/lifecycle.ts";
import { opened } from "../../support/world.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

/** The output of all commands in this file. */
const said: string[] = [];
// Without sweeps, so that only kit acts.
const life = opened(() =>
  aLifecycle({ environment: { WEB_JOBS: "off", LEGACY_GRANTS: "on" }, sandbox: { legacyGrants: true } }),
);
afterEach(async () => {
  life.control.clearFaults();
  life.control.settings({ legacyGrants: true, acceptDelayMs: 0 });
  await life.world.forged.nothingIsLeftOf("events", "steps", "credentials", "resources");
});

async function recover(words: string[], environment = {}) {
  const all = { ...life.world.environment, ...environment };
  const { code, data } = await kitJson<Report>(all, ["grants", "recover", ...words]);
  said.push(JSON.stringify(data));
  return { code, data: { ...data, done: data.done?.sort() } };
}

/** Installations that the platform and the database know, and that have no tokens; in the order of their uuids. */
async function imported(count: number): Promise<string[]> {
  const plan = "basic";
  const addons = Array.from({ length: count }, () => life.control.installWithoutProvision({ plan }).addon);
  const lines = addons.map(({ id, name }) => JSON.stringify({ uuid: id, plan, name })).join("\n");
  const { data } = await kitJson(life.world.environment, ["resources", "import"], lines);
  expect(data).toEqual({ imported: count, skipped: [] });
  return addons.map(({ id }) => id).sort();
}

const grants = (since: number) =>
  life.entries(since).filter(({ path }) => /^\/vendor\/resources\/.+\/oauth-grant$/.test(path));

describe("kit grants recover", () => {
  it("is refused while LEGACY_GRANTS is off, with advice", async () => {
    const since = life.position();
    const message = expect.stringMatching(/Ask the platform to open .* LEGACY_GRANTS=on/);
    expect(await recover(["--all"], { LEGACY_GRANTS: "off" })).toMatchObject({
      ...{ code: 1, data: { id: "legacy_grants_off", message } },
    });
    expect(grants(since)).toEqual([]);
  });

  it("recovers the tokens of all imported installations, with one grant and one exchange each, asked for with the legacy API's credentials and no other secret", async () => {
    const uuids = await imported(30);
    const since = life.position();
    expect(await recover(["--all"])).toEqual({ code: 0, data: { done: uuids, failed: [], skipped: [] } });
    const asked = grants(since);
    expect(asked).toHaveLength(30);
    expect(life.tokenCalls(since)).toHaveLength(30);
    const { ADDON_ID, ADDON_PASSWORD, CLIENT_SECRET } = life.world.environment;
    expect(asked[0]!.request.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(`${ADDON_ID}:${ADDON_PASSWORD}`).toString("base64")}`,
      accept: "application/vnd.svc+json; version=3",
    });
    expect(JSON.stringify(asked)).not.toContain(CLIENT_SECRET);
    await life.expectAlive([uuids[0]!]);
    expect(await life.events(uuids[0]!)).toEqual(["imported", "grant_recovered", "tokens_issued"]);
    expect(await recover(["--all"])).toEqual({ code: 0, data: { done: [], failed: [], skipped: [] } });
  });

  it("fails for a resource whose grant was exchanged, with no possible remedy, and leaves it unchanged", async () => {
    const lost = await life.world.settled();
    const [good] = await imported(1);
    await life.world.forged.grantWasLost(lost, "outcome_unknown");
    const since = life.position();
    const message = expect.stringContaining("the platform does not issue its tokens twice");
    expect(await recover(["--all"])).toEqual({
      code: 1,
      data: { done: [good], failed: [{ uuid: lost, id: "already_exchanged", message }], skipped: [] },
    });
    expect(await life.row(lost)).toMatchObject({ state: "grant_lost", reason: "outcome_unknown" });
    expect(grants(since)).toHaveLength(2);
  });

  it("skips resources that need no grant, with the reason, and fails for unknown ones", async () => {
    const [active, gone] = [await life.world.settled(), await life.world.settled()];
    await life.control.deprovision(gone);
    const [failed] = await imported(1);
    await life.world.forged.resourceIs(failed!, "failed");
    await life.world.forged.grantWasLost(failed!);
    const since = life.position();
    const { data } = await recover([active, gone, failed!, UNKNOWN, active]);
    expect(data).toMatchObject({ done: [], failed: [{ uuid: UNKNOWN, id: "not_found" }] });
    expect(Object.fromEntries(data.skipped.map(({ uuid, reason }) => [uuid, reason]))).toEqual({
      ...{ [active]: "active", [gone]: "deprovisioned", [failed!]: "failed" },
    });
    expect((await recover(["--all"])).data).toEqual({ done: [], failed: [], skipped: [] });
    expect(grants(since)).toEqual([]);
  });

  it.each([
    ["the endpoint is closed", false, undefined, "closed", "ask the platform to open it"],
    [
      "the password is wrong",
      true,
      "not-the-right-one",
      "credentials_rejected",
      "ADDON_ID with ADDON_PASSWORD",
    ],
  ])("begins no further one when %s", async (_, legacyGrants, wrong, id, told) => {
    life.control.settings({ legacyGrants });
    await imported(5);
    const { ADDON_PASSWORD } = life.world.environment;
    const settings = { ADDON_PASSWORD: wrong ?? ADDON_PASSWORD, TOKEN_CONCURRENCY: "1" };
    const { code, data } = await recover(["--all"], settings);
    const message = expect.stringContaining(told);
    expect({ code, data }).toMatchObject({ code: 1, data: { done: [], failed: [{ id, message }], left: 4 } });
    expect(JSON.stringify(data)).not.toContain("not-the-right-one");
  });

  it("fails for those that get no answer, and gets them in a second run", async () => {
    const uuids = await imported(3);
    life.control.fault("GET /vendor/resources/*/oauth-grant", { reset: "after" }, 2);
    const first = { done: { length: 1 }, failed: [{}, {}] };
    expect(await recover(["--all"])).toMatchObject({ code: 1, data: first });
    expect((await recover(uuids)).data.done).toHaveLength(2);
  });
});

it("two kit grants recover at the same time exchange each grant once, and both report success", async () => {
  const uuids = await imported(20);
  const since = life.position();
  const [one, two] = await Promise.all([recover(["--all"]), recover(uuids)]);
  expect(one.data.failed).toEqual([]);
  expect(two.data.failed).toEqual([]);
  expect(two.data.done.length + two.data.skipped.length).toBe(20);
  expect(life.tokenCalls(since)).toHaveLength(20);
  for (const uuid of uuids) expect(await life.row(uuid)).toMatchObject({ state: "active", generation: 1 });
});

it("the output of kit grants contains no code, no password and no token", () => {
  const { ADDON_PASSWORD, ADDON_ID, CLIENT_SECRET } = life.world.environment;
  const codes = life.control
    .ledger({ reveal: true })
    .entries.filter(({ path }) => path.endsWith("/oauth-grant"))
    .flatMap(
      ({ response }) => (response?.body as { oauth_grant?: { code: string } })?.oauth_grant?.code ?? [],
    );
  expect(codes.length).toBeGreaterThan(10);
  const basic = Buffer.from(`${ADDON_ID}:${ADDON_PASSWORD}`).toString("base64");
  const everything = said.join("\n") + life.world.logged();
  for (const secret of [ADDON_PASSWORD!, CLIENT_SECRET!, basic, ...codes])
    expect(everything).not.toContain(secret);
});
