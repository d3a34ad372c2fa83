import type { FaultAction } from "../../packages/sandbox/index.ts";
import { importInstallations } from "../../src/operator/resources.ts";
import { recoverGrants } from "../../src/operator/tokens.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// `kit grants recover`, called as kit calls it, beside a running service that also exchanges grants.

const life = opened(() =>
  aLifecycle({
    environment: { LEGACY_GRANTS: "on", TOKEN_CONCURRENCY: "8" },
    sandbox: { legacyGrants: true },
  }),
);
afterEach(async () => {
  life.control.clearFaults();
  life.control.settings({ legacyGrants: true });
  await life.world.forged.nothingIsLeftOf("steps", "credentials", "resources");
});

async function recover(which: string[] | "all", signal = new AbortController().signal) {
  const report = await recoverGrants(life.world.service.services, which, { signal });
  return { ...report, done: report.done.sort() };
}

/** Installations that the platform and the database know, and that have no tokens; in the order of their uuids. */
async function imported(count: number): Promise<string[]> {
  const uuids = Array.from(
    { length: count },
    () => life.control.installWithoutProvision({ plan: "basic" }).addon.id,
  );
  const lines = (async function* () {
    for (const uuid of uuids) yield JSON.stringify({ uuid, plan: "basic" });
  })();
  const signal = new AbortController().signal;
  const { services } = life.world.service;
  expect(await importInstallations(services, lines, { signal })).toMatchObject({ imported: count });
  return uuids.sort();
}

const grants = (since: number) => life.entries(since).filter(({ path }) => path.endsWith("/oauth-grant"));

it("recovers a grant whose outcome was unknown, unless it was exchanged at the platform", async () => {
  const [uuid] = await imported(1);
  await life.world.forged.grantWasLost(uuid!, "outcome_unknown");
  expect(await recover("all")).toEqual({ done: [uuid], failed: [], skipped: [] });
  expect(await life.row(uuid!)).toMatchObject({ state: "active", reason: null, generation: 1 });
});

it("recovers a needs_reauth resource when it is named and the platform gives a grant, never with --all", async () => {
  const [revoked] = await imported(1);
  await life.world.forged.refreshIsGivenUp(revoked!);
  expect(await recover("all")).toEqual({ done: [], failed: [], skipped: [] });
  expect(await recover([revoked!])).toEqual({ done: [revoked], failed: [], skipped: [] });
});

it.each<[string, string, FaultAction]>([
  ["a 404", "not_found", { status: 404, body: { id: "not_found", message: "no" } }],
  ["a 410", "already_exchanged", { status: 410, body: { id: "gone", message: "exchanged" } }],
  ["a 422", "already_exchanged", { status: 422, body: "<html>" }],
  ["an answer that is lost", "connection_failed", { reset: "after" }],
])("reports %s as %s, and recovers the grant when it is asked again", async (_, id, action) => {
  const [one, other] = (await imported(2)) as [string, string];
  life.control.fault(`GET /vendor/resources/${one}/oauth-grant`, action);
  expect(await recover("all")).toMatchObject({ done: [other], failed: [{ uuid: one, id }] });
  expect(await recover("all")).toEqual({ done: [one], failed: [], skipped: [] });
});

it.each([
  ["the first app is suspended", "suspended", 0],
  ["the endpoint, which gave a grant, answers 403 to another", "forbidden", 1],
])("goes on when %s", async (_, id, place) => {
  const uuids = (await imported(3)).sort();
  const [refused] = uuids.splice(place, 1);
  life.control.fault(`GET /vendor/resources/${refused}/oauth-grant`, {
    status: 403,
    body: { id, message: "no" },
  });
  const report = await recover("all");
  expect(report).toMatchObject({ done: { length: 2 }, failed: [{ uuid: refused, id }] });
  expect(new Set(report.done)).toEqual(new Set(uuids));
  await recover("all");
});

it("stops when the exchange shows that the client secret is rejected, and asks for no grant while it is", async () => {
  const uuids = await imported(30);
  life.control.fault("POST /oauth/token", { status: 401, body: { error: "invalid_client" } }, 50);
  const since = life.position();
  const data = await recover("all");
  expect(grants(since).length).toBeLessThan(20);
  expect(new Set(data.failed.map(({ id }) => id))).toEqual(new Set(["client_secret_rejected"]));
  await life.world.service.services.exchanges.settled();
  const asked = life.position();
  await expect(recover("all")).rejects.toMatchObject({ id: "client_secret_rejected" });
  expect(grants(asked)).toEqual([]);
  life.control.clearFaults();
  await life.world.forged.secretIsAccepted();
  const { secrets } = life.world.service.services.credentials;
  await eventually(async () => expect(await secrets.current()).toMatchObject({ isRejected: false }));
  // The service's own sweep may be first to exchange some of the grants that were stored above.
  expect(await recover("all")).toMatchObject({ failed: [], skipped: [] });
  await life.become(uuids, 1);
});

describe("the service itself", () => {
  const NEVER: FaultAction = { reset: "before" };
  const ofGrant = (uuid: string) => `GET /vendor/resources/${uuid}/oauth-grant`;
  const alarms = (uuid: string) => life.world.lines(`"alarm":"grant_lost"`, `"uuid":"${uuid}"`);

  /** Installs so many whose first call for tokens fails, and ends their five minutes then. */
  async function lost(count: number, fault: FaultAction, plan = "basic"): Promise<string[]> {
    // For each try until their time is over.
    life.control.fault("POST /oauth/token", fault, 1_000);
    const installs = Array.from({ length: count }, () => life.control.install({ plan }));
    const uuids = (await Promise.all(installs)).map(({ addon }) => addon.id);
    for (const uuid of uuids) await life.becomes(uuid, { lastError: expect.any(String) });
    await life.world.forged.grantIsOver(uuids, { isFree: true });
    // Until then a try may be under way, which would succeed.
    for (const uuid of uuids)
      await eventually(() => life.world.lines("Grant ended without tokens", uuid).length > 0);
    life.control.clearFaults();
    return uuids;
  }

  it("recovers a lost grant, without an alarm; a put-off provision waits for it and is completed", async () => {
    const [done, putOff] = [...(await lost(1, NEVER)), ...(await lost(1, NEVER, "dedicated"))] as [
      string,
      string,
    ];
    for (const uuid of [done, putOff]) {
      await life.becomes(uuid, { state: "active", generation: 1 });
      expect(await life.events(uuid)).toContain("grant_recovered");
      expect(life.world.lines("Lost grant recovered", uuid)).toHaveLength(1);
      expect(alarms(uuid)).toEqual([]);
    }
    await life.resourceBecomes(putOff, { state: "provisioned" });
  });

  it("asks once for a grant that the platform has exchanged, and raises the alarm then", async () => {
    const since = life.position();
    const [uuid] = (await lost(1, { reset: "after" })) as [string];
    await eventually(() => expect(alarms(uuid)).toEqual([expect.stringContaining("already_exchanged")]));
    expect(await life.row(uuid)).toMatchObject({ state: "grant_lost", reason: "outcome_unknown" });
    life.world.service.services.jobs.wake("recover-grants");
    await life.world.installed(1);
    expect(grants(since)).toHaveLength(1);
  });

  it("goes on when one resource is refused, and tries again what met trouble", async () => {
    const uuids = await lost(3, NEVER);
    const [suspended, troubled] = uuids as [string, string];
    life.control.fault(ofGrant(suspended), { status: 403, body: { id: "suspended", message: "no" } });
    life.control.fault(ofGrant(troubled), {
      status: 503,
      body: { id: "service_unavailable", message: "no" },
    });
    await eventually(() => expect(alarms(suspended)).toHaveLength(1));
    await life.becomes(uuids[2]!, { state: "active" });
    await eventually(() => life.control.faults().length === 0);
    await life.makeDue([troubled]);
    await life.becomes(troubled, { state: "active" });
    expect(alarms(troubled)).toEqual([]);
  });

  it("stops at a closed endpoint, until an operator asks again", async () => {
    life.control.settings({ legacyGrants: false });
    const since = life.position();
    const uuids = await lost(5, NEVER);
    for (const uuid of uuids)
      await eventually(() => expect(alarms(uuid)).toEqual([expect.stringContaining('"closed"')]));
    expect(grants(since)).toHaveLength(3);
    life.control.settings({ legacyGrants: true });
    expect(await recover("all")).toMatchObject({ failed: [], done: { length: 5 } });
  });
});
