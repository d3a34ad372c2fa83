import {
  claimGrants,
  claimRefresh,
  claimRefreshes,
  markSent,
  type ClaimedCredential,
} from "../../src/credentials/queue.ts";
import { interleavings } from "../support/interleavings.ts";
import { aWorld, opened } from "../support/world.ts";

let uuids: string[];
const { always, parts } = interleavings();
const world = opened(() => aWorld({ parts }));
beforeAll(async () => {
  uuids = await world.installed(12);
  // From here on only the tests look for due work.
  await world.service.services.jobs.stop();
});

const grants = (most: number) => claimGrants(world.service.services, most);
const refreshes = (most: number) => claimRefreshes(world.service.services, most, ["resource"]);
const refresh = (uuid: string) => claimRefresh(world.service.services, uuid);

describe("claims on credentials", () => {
  it("are made for a probe alone while the secret is rejected and nobody can sign in", async () => {
    const { credentials, refreshes } = world.service.services;
    const secret = await credentials.secrets.current();
    const refused = { outcome: "client_rejected", error: { id: "invalid_client", message: "No." } } as const;
    await credentials.secrets.judge({} as never, secret, refused);
    let claims = 0;
    const end = always("before claim_refreshes", () => Promise.resolve((claims += 1)));
    await refreshes.fill(new AbortController().signal);
    end();
    expect(claims).toBe(1);
    await credentials.secrets.accepted(secret);
  });

  it("gives each row to one claimant only, and marks token pairs as possibly sent", async () => {
    await world.rows(`UPDATE credentials SET due_at = now()`);

    const claimed = (await Promise.all([refreshes(5), refreshes(5), refreshes(5)])).flat();
    claimed.push(...(await refreshes(12)));
    expect(claimed.map(({ uuid }) => uuid).sort()).toEqual(uuids);
    expect(await refreshes(12)).toEqual([]);
    expect(await refresh(uuids[0]!)).toBeUndefined();
    expect(await world.rows(`SELECT 1 FROM credentials WHERE sent_at IS NOT NULL`)).toHaveLength(12);
  });

  it.each([
    ["more are due than are wanted", 5],
    ["all that are due are wanted", 12],
  ])("gives each grant to one claimant only, if %s, and does not mark it as sent", async (_, most) => {
    await world.rows(
      `UPDATE credentials SET state = 'grant_pending', due_at = now(), leased_until = NULL, sent_at = NULL,
         grant_deadline = now() + interval '1 minute'`,
    );
    const claimed = (await Promise.all([grants(most), grants(most), grants(most)])).flat();
    claimed.push(...(await grants(12)));
    expect(claimed.map(({ uuid }) => uuid).sort()).toEqual(uuids);
    expect(await grants(12)).toEqual([]);
    // A call that was never made has no unknown outcome.
    expect(await world.rows(`SELECT 1 FROM credentials WHERE sent_at IS NOT NULL`)).toEqual([]);
    await world.rows(`UPDATE credentials SET state = 'active', grant_deadline = NULL, leased_until = NULL`);
  });

  it("gives grants in the order of their deadlines, whatever the order in which they fell due", async () => {
    const left = [200, 40, 120, 60, 250, 20, 90, 160];
    await world.rows(
      `UPDATE credentials c SET state = 'grant_pending', leased_until = NULL, due_at = now() - make_interval(secs => i.life),
         grant_deadline = now() + make_interval(secs => i.life)
       FROM unnest($1::uuid[], $2::float8[]) AS i(uuid, life) WHERE c.uuid = i.uuid`,
      [uuids.slice(0, 8), left],
    );
    const urgent = left.toSorted((one, other) => one - other).map((life) => uuids[left.indexOf(life)]);
    expect((await grants(3)).map(({ uuid }) => uuid)).toEqual(urgent.slice(0, 3));
    expect((await grants(12)).map(({ uuid }) => uuid)).toEqual(urgent.slice(3));
    await world.rows(`UPDATE credentials SET state = 'active', grant_deadline = NULL, leased_until = NULL`);
  });

  it("are not marked as sent after a later claim, even when both ask at the same moment", async () => {
    const [uuid] = uuids as [string];
    const [row] = await world.rows<{ lease: number }>(
      `UPDATE credentials SET leased_until = now() + interval '45 seconds' WHERE uuid = $1 RETURNING lease`,
      [uuid],
    );
    const claim = { uuid, state: "grant_pending", claimedAtMs: Date.now() } as ClaimedCredential;
    const asked = [row!.lease - 1, row!.lease].map((lease) => markSent(world.db, { ...claim, lease }));
    expect(await Promise.all(asked)).toEqual([false, true]);
  });
});
