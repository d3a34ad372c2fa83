import type { FaultAction } from "../../packages/sandbox/index.ts";
import { recoverGrants } from "../../src/operator/tokens.ts";
import { importInstallations } from "../../src/operator/resources.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// `kit grants recover`, called as kit calls it, beside a running service that also exchanges grants.

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";

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

  it("recovers a needs_reauth resource when it is named and the platform gives a grant, never with --all", async () => {
    const [revoked] = await imported(1);
    await life.world.rows(
      `UPDATE credentials SET state = 'needs_reauth', reason = 'refresh_token_rejected' WHERE uuid = $1`,
      [revoked],
    );
    expect(await recover("all")).toEqual({ done: [], failed: [], skipped: [] });
    expect(await recover([revoked!])).toEqual({ done: [revoked], failed: [], skipped: [] });
  });

  it.each<[string, string, FaultAction]>([
    ["a 404", "not_found", { status: 404, body: { id: "not_found", message: "no" } }],
    ["a 410", "already_exchanged", { status: 410, body: { id: "gone", message: "exchanged" } }],
    ["a 422", "already_exchanged", { status: 422, body: "<html>" }],
    ["a 503", "http_503", { status: 503, body: "<html>" }],
    ["an answer that is lost", "connection_failed", { reset: "after" }],
    ["HTML", "unreadable_answer", { status: 200, body: "<html>", headers: { "content-type": "text/html" } }],
    ["an answer without a code", "unreadable_answer", { status: 200, body: { oauth_grant: {} } }],
  ])("reports %s as %s, and recovers the grant when it is asked again", async (_, id, action) => {
    const [one, other] = (await imported(2)) as [string, string];
    life.control.fault(grantOf(one), action);
    expect(await recover("all")).toMatchObject({ done: [other], failed: [{ uuid: one, id }] });
    expect(await recover("all")).toEqual({ done: [one], failed: [], skipped: [] });
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
});
