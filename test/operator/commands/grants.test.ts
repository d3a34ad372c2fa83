import { once } from "node:events";
import { opened, aWorld, eventually } from "../../support/world.ts";
import { kit, kitJson, runningKit, startKit } from "../../support/kit.ts";

interface Report {
  done: string[];
  failed: { uuid: string; id: string; message: string }[];
  skipped: { uuid: string; reason: string }[];
}

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

/** The output of all commands in this file. */
const said: string[] = [];
// Without sweeps, so that only kit acts.
const world = opened(() =>
  aWorld({ environment: { WEB_JOBS: "off", LEGACY_GRANTS: "on" }, sandbox: { legacyGrants: true } }),
);
afterEach(async () => {
  world.sandbox.control.clearFaults();
  world.sandbox.control.settings({ legacyGrants: true, acceptDelayMs: 0 });
  await world.rows(`DELETE FROM events`);
  await world.rows(`DELETE FROM steps`);
  await world.rows(`DELETE FROM credentials`);
  await world.rows(`DELETE FROM resources`);
});

async function recover(words: string[], environment = {}) {
  const answer = await kitJson<Report>({ ...world.environment, ...environment }, [
    ...["grants", "recover"],
    ...words,
  ]);
  said.push(JSON.stringify(answer.data));
  const sorted = { ...answer.data, done: answer.data.done?.sort() };
  return { ...answer, data: sorted };
}

/** Installations that the platform and the database know, and that have no tokens; in the order of their uuids. */
async function imported(count: number, plan = "basic"): Promise<string[]> {
  const addons = Array.from(
    { length: count },
    () => world.sandbox.control.installWithoutProvision({ plan }).addon,
  );
  const lines = addons.map(({ id, name }) => JSON.stringify({ uuid: id, plan, name })).join("\n");
  const { data } = await kitJson(world.environment, ["resources", "import"], lines);
  expect(data).toEqual({ imported: count, skipped: [] });
  return addons.map(({ id }) => id).sort();
}

async function credential(uuid: string) {
  const [row] = await world.rows<{ state: string; reason: string | null; generation: number }>(
    `SELECT state, reason, generation FROM credentials WHERE uuid = $1`,
    [uuid],
  );
  return row;
}

const position = () => world.sandbox.control.ledger().next;
const calls = (since: number, path: RegExp) =>
  world.sandbox.control
    .ledger({ since, reveal: true })
    .entries.filter((entry) => entry.direction === "in" && path.test(`${entry.method} ${entry.path}`));
const GRANTS = /^GET \/vendor\/resources\/.+\/oauth-grant$/;
const EXCHANGES = /^POST \/oauth\/token$/;
const works = (uuid: string) => world.service.services.platformFor(uuid).addons.own();

describe("kit grants recover", () => {
  it("is refused while LEGACY_GRANTS is off, with advice", async () => {
    const since = position();
    const { code, data } = await recover(["--all"], { LEGACY_GRANTS: "off" });
    expect({ code, data }).toMatchObject({ code: 1, data: { id: "legacy_grants_off" } });
    const { message } = data as unknown as { message: string };
    expect(message).toMatch(/LEGACY_GRANTS=on/);
    expect(message).toMatch(/Ask the platform to open its oauth-grant endpoint/);
    expect(calls(since, GRANTS)).toEqual([]);
  });

  it("recovers the tokens of all imported installations, with one grant and one exchange each, asked for with the legacy API's credentials and no other secret", async () => {
    const uuids = await imported(30);
    const since = position();
    expect(await recover(["--all"])).toEqual({ code: 0, data: { done: uuids, failed: [], skipped: [] } });
    const asked = calls(since, GRANTS);
    expect(asked).toHaveLength(30);
    expect(calls(since, EXCHANGES)).toHaveLength(30);
    const { ADDON_ID, ADDON_PASSWORD, CLIENT_SECRET } = world.environment;
    expect(asked[0]!.request.headers).toMatchObject({
      authorization: `Basic ${Buffer.from(`${ADDON_ID}:${ADDON_PASSWORD}`).toString("base64")}`,
      accept: "application/vnd.svc+json; version=3",
    });
    expect(JSON.stringify(asked)).not.toContain(CLIENT_SECRET);
    expect(await works(uuids[0]!)).toMatchObject({ id: uuids[0] });
    const apps = await kitJson<{ primary: { name: string } }>(world.environment, ["apps", uuids[1]!]);
    expect(apps.code).toBe(0);
    const shown = await kitJson<{ events: { type: string }[] }>(world.environment, [
      ...["resources", "show"],
      uuids[0]!,
    ]);
    expect(shown.data.events.map(({ type }) => type)).toEqual([
      ...["imported", "grant_recovered", "tokens_issued"],
    ]);
    expect(await recover(["--all"])).toEqual({ code: 0, data: { done: [], failed: [], skipped: [] } });
  });

  it("fails for a resource whose grant was exchanged, with no possible remedy, and leaves it unchanged", async () => {
    const lost = await world.settled();
    const [good] = await imported(1);
    await world.rows(
      `UPDATE credentials SET state = 'grant_lost', reason = 'outcome_unknown' WHERE uuid = $1`,
      [lost],
    );
    const since = position();
    const { code, data } = await recover(["--all"]);
    expect({ code, data }).toEqual({
      code: 1,
      data: {
        done: [good],
        failed: [{ uuid: lost, id: "already_exchanged", message: expect.stringMatching(/409 conflict/) }],
        skipped: [],
      },
    });
    expect(data.failed[0]!.message).toMatch(/its tokens cannot be had again/);
    expect(await credential(lost)).toMatchObject({ state: "grant_lost", reason: "outcome_unknown" });
    expect(calls(since, GRANTS)).toHaveLength(2);
  });

  it("skips resources that need no grant, with the reason, and fails for unknown ones", async () => {
    const [active, gone] = [await world.settled(), await world.settled()];
    await world.sandbox.control.deprovision(gone);
    const [failed] = await imported(1);
    await world.rows(`UPDATE resources SET state = 'failed' WHERE uuid = $1`, [failed]);
    await world.rows(`UPDATE credentials SET state = 'grant_lost' WHERE uuid = $1`, [failed]);
    const since = position();
    const { code, data } = await recover([active, gone, failed!, UNKNOWN, active]);
    expect({ code, data }).toEqual({
      code: 1,
      data: {
        done: [],
        failed: [{ uuid: UNKNOWN, id: "not_found", message: expect.any(String) }],
        skipped: expect.arrayContaining([
          { uuid: active, reason: "active" },
          { uuid: gone, reason: "deprovisioned" },
          { uuid: failed, reason: "failed" },
        ]),
      },
    });
    expect(data.skipped).toHaveLength(3);
    expect((await recover(["--all"])).data).toEqual({ done: [], failed: [], skipped: [] });
    expect(calls(since, GRANTS)).toEqual([]);
  });

  it.each([
    { when: "the endpoint is closed", legacyGrants: false, settings: {}, id: "grants_closed" },
    {
      ...{ when: "the credentials are wrong", legacyGrants: true, id: "legacy_credentials_rejected" },
      settings: { ADDON_PASSWORD: "not-the-right-password" },
    },
  ])("asks once, and gives one message, when $when", async ({ legacyGrants, settings, id }) => {
    world.sandbox.control.settings({ legacyGrants });
    await imported(5);
    const since = position();
    const { code, data } = await recover(["--all"], settings);
    expect({ code, data }).toMatchObject({ code: 1, data: { id } });
    expect(calls(since, GRANTS)).toHaveLength(1);
    expect(JSON.stringify(data)).not.toContain("not-the-right-password");
  });

  it("stops early when the endpoint does not answer, and can be continued later", async () => {
    const uuids = await imported(12);
    const rest = { status: 503, headers: { "retry-after": "1" } };
    world.sandbox.control.fault("GET /vendor/resources/*/oauth-grant", rest, 100);
    const since = position();
    const { code, stdout, stderr } = await kit(world.environment, ["grants", "recover", "--all"]);
    said.push(stdout, stderr);
    expect(code).toBe(1);
    expect(stdout).toContain("Stopped: 9 resources left. Run it again for the rest.");
    expect(stdout).toContain("0 recovered, 3 failed, 0 skipped.\n");
    expect(calls(since, GRANTS)).toHaveLength(9);
    world.sandbox.control.clearFaults();
    expect((await recover(["--all"])).data.done).toEqual(uuids);
  });

  it("stops at once during the platform's Retry-After", async () => {
    const uuids = await imported(3);
    world.sandbox.control.fault(
      "GET /vendor/resources/*/oauth-grant",
      { status: 429, headers: { "retry-after": "20" } },
      100,
    );
    const since = position();
    const { signal, ended } = runningKit(world.environment, ["grants", "recover", "--all"]);
    await eventually(() => expect(calls(since, GRANTS)).toHaveLength(1));
    signal("SIGINT");
    const { code, stdout } = await ended;
    expect(code).toBe(1);
    expect(stdout).toContain("Stopped: 3 resources left. Run it again for the rest.");
    expect(calls(since, GRANTS)).toHaveLength(1);
    world.sandbox.control.clearFaults();
    expect((await recover(["--all"])).data.done).toEqual(uuids);
  });
});

it("two kit grants recover at the same time exchange each grant once, and both report success", async () => {
  const uuids = await imported(20);
  const since = position();
  const [one, two] = await Promise.all([recover(["--all"]), recover(uuids)]);
  expect(one.data.failed).toEqual([]);
  expect(two.data.failed).toEqual([]);
  expect(two.data.done.length + two.data.skipped.length).toBe(20);
  expect(calls(since, EXCHANGES)).toHaveLength(20);
  for (const uuid of uuids) expect(await credential(uuid)).toMatchObject({ state: "active", generation: 1 });
});

it("kit grants recover that is killed leaves the encrypted grant, which the next run exchanges without asking for another", async () => {
  const [uuid] = await imported(1);
  world.sandbox.control.fault("POST /oauth/token", { hang: "before" });
  const since = position();
  const child = startKit(world.environment, ["grants", "recover", "--all"]);
  await eventually(() => expect(calls(since, EXCHANGES)).toHaveLength(1));
  const code = codeIn(since);
  child.kill("SIGKILL");
  await once(child, "close");
  const [row] = await world.rows<{ state: string; sealed: Buffer }>(
    `SELECT state, sealed_grant_code AS sealed FROM credentials WHERE uuid = $1`,
    [uuid],
  );
  expect(row!.state).toBe("grant_pending");
  expect(row!.sealed.includes(Buffer.from(code))).toBe(false);
  // Its lease ends.
  await world.rows(`UPDATE credentials SET leased_until = now() WHERE uuid = $1`, [uuid]);
  expect((await recover(["--all"])).data).toEqual({ done: [uuid], failed: [], skipped: [] });
  expect(calls(since, GRANTS)).toHaveLength(1);
  const codes = calls(since, EXCHANGES).map(({ request }) => (request.body as { code: string }).code);
  expect(new Set(codes)).toEqual(new Set([code]));
});

it("the output of kit grants contains no code, no password and no token", () => {
  const { ADDON_PASSWORD, ADDON_ID, CLIENT_SECRET } = world.environment;
  const codes = world.sandbox.control
    .ledger({ reveal: true })
    .entries.filter(({ path }) => path.endsWith("/oauth-grant"))
    .flatMap(({ response }) => (response?.body as GrantBody | undefined)?.oauth_grant?.code ?? []);
  expect(codes.length).toBeGreaterThan(10);
  const basic = Buffer.from(`${ADDON_ID}:${ADDON_PASSWORD}`).toString("base64");
  const everything = said.join("\n") + world.logged();
  for (const secret of [ADDON_PASSWORD!, CLIENT_SECRET!, basic, ...codes]) {
    expect(everything).not.toContain(secret);
  }
});

interface GrantBody {
  oauth_grant?: { code?: string };
}

function codeIn(since: number): string {
  return (calls(since, GRANTS)[0]!.response!.body as { oauth_grant: { code: string } }).oauth_grant.code;
}
