import { deprovision } from "../../src/resources/deprovision.ts";
import { failStranded } from "../../src/resources/end-store.ts";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import { recoverGrants } from "../../src/operator/grants.ts";
import { importInstallations } from "../../src/operator/import.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";

// `kit grants recover`, called as kit calls it, beside a running service that also exchanges grants.

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";
const UNAVAILABLE = { status: 503, body: { error: "temporarily_unavailable" } };

const life = opened(() =>
  aLifecycle({
    environment: { LEGACY_GRANTS: "on", TOKEN_CONCURRENCY: "8" },
    sandbox: { legacyGrants: true },
  }),
);
afterEach(async () => {
  life.control.clearFaults();
  life.control.settings({ legacyGrants: true });
  for (const table of ["steps", "credentials", "resources"]) await life.world.rows(`DELETE FROM ${table}`);
});

async function recover(which: string[] | "all", signal = new AbortController().signal) {
  const report = await recoverGrants(life.world.service.services, which, { signal });
  return { ...report, done: report.done.sort() };
}

/** Installations that the platform and the database know, and that have no tokens; in the order of their uuids. */
async function imported(count: number): Promise<string[]> {
  const { db, vault, offer } = life.world.service.services;
  const uuids = Array.from(
    { length: count },
    () => life.control.installWithoutProvision({ plan: "basic" }).addon.id,
  );
  const lines = (async function* () {
    for (const uuid of uuids) yield JSON.stringify({ uuid, plan: "basic" });
  })();
  const signal = new AbortController().signal;
  expect(await importInstallations({ db, vault, offer }, lines, { signal })).toMatchObject({
    imported: count,
  });
  return uuids.sort();
}

/** A grant at its deadline, which nobody is exchanging. */
const endGrant = (uuid: string) =>
  life.world.rows(
    `UPDATE credentials SET grant_deadline = now(), due_at = now(), leased_until = NULL, sent_at = NULL WHERE uuid = $1`,
    [uuid],
  );
const grantOf = (uuid: string) => `GET /vendor/resources/${uuid}/oauth-grant`;
const secrets = () => life.world.service.services.credentials.secrets;
async function secretIsAccepted() {
  await life.world.rows(`UPDATE client_secrets SET rejected_at = NULL, probe_at = NULL`);
  await eventually(async () => expect(await secrets().current()).toMatchObject({ isRejected: false }));
}
const grants = (since: number) =>
  life.entries(since).filter(({ method, path }) => GRANTS.test(`${method} ${path}`));
const GRANTS = /^GET \/vendor\/resources\/.+\/oauth-grant$/;

describe("recovery of lost grants", () => {
  it.each(["expired", "never_accepted", "outcome_unknown"])(
    "recovers a grant that was lost as %s, unless it was exchanged at the platform",
    async (reason) => {
      const [uuid] = await imported(1);
      await life.world.rows(`UPDATE credentials SET state = 'grant_lost', reason = $2 WHERE uuid = $1`, [
        uuid,
        reason,
      ]);
      expect(await recover([uuid!])).toEqual({ done: [uuid], failed: [], skipped: [] });
      expect(await life.row(uuid!)).toMatchObject({ state: "active", reason: null, generation: 1 });
    },
  );

  it("exchanges a stored grant that is still valid, and a new one where it has expired", async () => {
    const [alive, expired] = await imported(2);
    await asIfAskedBefore(alive!);
    await asIfAskedBefore(expired!);
    const codes = () => [alive, expired].map((uuid) => life.control.addon(uuid!).grant!.expires_at);
    const before = codes();
    await recover([alive!]);
    life.control.advanceClock(301);
    await recover([expired!]);
    life.control.advanceClock(-301);
    expect(codes()[0]).toBe(before[0]);
    expect(codes()[1]).not.toBe(before[1]);
    expect([await life.row(alive!), await life.row(expired!)]).toMatchObject([
      { state: "active" },
      { state: "active" },
    ]);
  });

  it("recovers a needs_reauth resource when it is named and the platform gives a grant, never with --all", async () => {
    const [revoked] = await imported(1);
    await life.world.rows(
      `UPDATE credentials SET state = 'needs_reauth', reason = 'refresh_token_rejected' WHERE uuid = $1`,
      [revoked],
    );
    expect(await recover("all")).toEqual({ done: [], failed: [], skipped: [] });
    expect(await recover([revoked!])).toEqual({ done: [revoked], failed: [], skipped: [] });
  });

  it("keeps the access token and the daily retry of a needs_reauth resource", async () => {
    const uuid = await life.settled();
    await life.world.rows(
      `UPDATE credentials SET state = 'needs_reauth', reason = 'refresh_token_rejected', rejected_at = now(),
         due_at = now() + interval '20 hours' WHERE uuid = $1`,
      [uuid],
    );
    const another = { oauth_grant: { code: "another", type: "authorization_code" } };
    life.control.fault(grantOf(uuid), { status: 200, body: another }, 1);
    life.control.fault("POST /oauth/token", UNAVAILABLE, 99);
    const recovering = recover([uuid]);
    await life.becomes(uuid, { state: "grant_pending" });
    await life.expectAlive([uuid]);
    await endGrant(uuid);
    expect(await recovering).toMatchObject({ failed: [{ uuid, id: "needs_reauth" }] });
    expect(await life.row(uuid)).toMatchObject({ state: "needs_reauth", reason: "refresh_token_rejected" });
    // The grant had expired, which is no refusal of the refresh token.
    const refusedSince = await life.world.rows(
      `SELECT uuid FROM credentials WHERE uuid = $1 AND rejected_at > now() - interval '10 minutes'`,
      [uuid],
    );
    expect(refusedSince).toEqual([]);
    await life.expectAlive([uuid]);
    life.control.clearFaults();
    expect(await refreshNow(life.world.service.services, uuid)).toMatchObject({ done: "stored" });
  });

  it("does not revive an asynchronous provision that failed because its grant was lost", async () => {
    const { addon } = await life.control.install({ plan: "dedicated" });
    await life.becomes(addon.id, { state: "active" });
    // Without the sweeps, one of which fails such a provision: here that is called when it is to happen.
    await life.world.restart({ environment: { WEB_JOBS: "off" } });
    await life.world.rows(
      `UPDATE credentials SET state = 'grant_lost', sealed_access_token = NULL WHERE uuid = $1`,
      [addon.id],
    );
    await life.world.rows(`UPDATE resources SET state = 'provisioning' WHERE uuid = $1`, [addon.id]);
    const before = await recover([addon.id]);
    await failStranded(life.world.service.services);
    const after = await recover([addon.id]);
    await life.world.restart();
    expect(before.skipped).toEqual([{ uuid: addon.id, reason: "provisioning" }]);
    expect(after.skipped).toEqual([{ uuid: addon.id, reason: "failed" }]);
  });

  it("treats a 403 as the fault of one resource after another one got its grant", async () => {
    const uuids = await imported(4);
    life.control.fault(grantOf(uuids[3]!), {
      status: 403,
      body: { id: "forbidden", message: "This app is locked." },
    });
    const data = await recover("all");
    expect(data.done).toEqual(uuids.slice(0, 3));
    expect(data.failed).toEqual([
      { uuid: uuids[3], id: "forbidden", message: expect.stringMatching(/This app is locked/) },
    ]);
  });

  it.each<[string, FaultAction]>([
    ["503", { status: 503 }],
    ["429 with Retry-After", { status: 429, headers: { "retry-after": "1" } }],
    ["a connection that breaks", { reset: "before" }],
    ["an answer that is lost", { reset: "after" }],
    ["half an answer", { truncate: true }],
    ["HTML", { status: 200, body: "<html>", headers: { "content-type": "text/html" } }],
    ["an answer without a code", { status: 200, body: { oauth_grant: { type: "authorization_code" } } }],
  ])("retries after %s", async (_, action) => {
    const uuids = await imported(3);
    life.control.fault(grantOf(uuids[1]!), action);
    expect(await recover("all")).toEqual({ done: uuids, failed: [], skipped: [] });
  });

  it("follows no redirect with its credentials", async () => {
    const [uuid] = await imported(1);
    const elsewhere = `${life.world.sandbox.url}/vendor/resources/${UNKNOWN}/oauth-grant`;
    life.control.fault(grantOf(uuid!), { status: 307, headers: { location: elsewhere } }, 9);
    const since = life.position();
    const data = await recover([uuid!]);
    expect(data.failed).toMatchObject([{ uuid, id: "redirect_refused" }]);
    expect(new Set(grants(since).map(({ path }) => path))).toEqual(
      new Set([`/vendor/resources/${uuid}/oauth-grant`]),
    );
    expect(await life.row(uuid!)).toMatchObject({ state: "no_grant" });
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
    await secretIsAccepted();
    // The service's own sweep may be first to exchange some of the grants that were stored above.
    expect(await recover("all")).toMatchObject({ failed: [], skipped: [] });
    await life.become(uuids, 1);
  });

  it("waits for a delayed exchange, and reports how it ended if it never succeeds", async () => {
    const [late, never] = await imported(2);
    life.control.fault("POST /oauth/token", { status: 503 }, 2);
    expect(await recover([late!])).toEqual({ done: [late], failed: [], skipped: [] });
    life.control.fault("POST /oauth/token", UNAVAILABLE, 99);
    const recovering = recover([never!]);
    await life.becomes(never!, { state: "grant_pending" });
    await endGrant(never!);
    const { failed } = await recovering;
    expect(failed).toEqual([
      { uuid: never, id: "grant_lost", message: expect.stringMatching(/grant_lost \(expired/) },
    ]);
  });

  it("can be stopped: fetched grants are kept and exchanged, the rest is untouched", async () => {
    const uuids = await imported(10);
    const stopping = new AbortController();
    life.control.fault(grantOf(uuids[1]!), { delayMs: 300 });
    const since = life.position();
    const recovering = recover("all", stopping.signal);
    await eventually(() => expect(grants(since).length).toBeGreaterThan(0));
    stopping.abort();
    const { done, failed } = await recovering;
    expect(done.length + failed.length).toBeLessThan(10);
    expect((await recover("all")).failed).toEqual([]);
    await life.become(uuids, 1);
  });

  it("keeps no grant for a resource that is deprovisioned meanwhile", async () => {
    const [uuid] = await imported(1);
    life.control.fault(grantOf(uuid!), { delayMs: 400 });
    const recovering = recover([uuid!]);
    await eventually(() => life.control.faults().length === 0);
    await deprovision(life.world.service.services, uuid!);
    expect(await recovering).toEqual({
      ...{ done: [], failed: [] },
      skipped: [{ uuid, reason: "deprovisioned" }],
    });
    expect(await life.row(uuid!)).toMatchObject({ state: "erased" });
  });

  it("makes one exchange and reports no failure when a repeated provision brings a grant meanwhile", async () => {
    const [uuid] = await imported(1);
    life.control.fault(grantOf(uuid!), { delayMs: 2_500 });
    const since = life.position();
    const recovering = recover([uuid!]);
    await eventually(() => life.control.faults().length === 0);
    await life.control.redeliver(uuid!, { newCode: true });
    expect(await recovering).toEqual({ done: [uuid], failed: [], skipped: [] });
    expect(life.tokenCalls(since)).toHaveLength(1);
    expect(await life.row(uuid!)).toMatchObject({ generation: 1 });
  });
});

/** Asks the platform for a grant without using it. */
async function asIfAskedBefore(uuid: string): Promise<void> {
  const { ADDON_ID, ADDON_PASSWORD } = life.world.environment;
  const authorization = basic(ADDON_ID!, ADDON_PASSWORD!);
  const headers = { authorization, accept: life.world.sandbox.settings.mediaType };
  const response = await fetch(`${life.world.sandbox.url}/vendor/resources/${uuid}/oauth-grant`, { headers });
  expect(response.status).toBe(200);
}
