import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  claimGrants,
  claimRefresh,
  claimRefreshes,
  isMarked,
  releaseCredential,
  type ClaimedCredential,
} from "../../src/credentials/queue.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

let world: World;
let uuids: string[];
beforeAll(async () => {
  world = await aWorld();
  const installed = Array.from({ length: 12 }, () => world.sandbox.control.install({ plan: "basic" }));
  uuids = (await Promise.all(installed)).map(({ addon }) => addon.id);
  await eventually(async () => {
    const [row] = await world.rows(`SELECT count(*)::int AS active FROM credentials WHERE state = 'active'`);
    expect(row).toEqual({ active: 12 });
  });
  // From here on only the tests look for due work.
  await world.service.services.jobs.stop();
}, 60_000);
afterAll(() => world.close());

const grants = (most: number) => claimGrants(world.service.services, most);
const refreshes = (most: number) => claimRefreshes(world.service.services, most, ["resource"]);
const refresh = (uuid: string) => claimRefresh(world.service.services, uuid);

describe("claims on credentials", () => {
  it("gives each row to one claimant only, and marks token pairs as possibly sent", async () => {
    await world.rows(`UPDATE credentials SET due_at = now()`);

    const claimed = (await Promise.all([refreshes(5), refreshes(5), refreshes(5)])).flat();
    claimed.push(...(await refreshes(12)));
    expect(claimed.map(({ uuid }) => uuid).sort()).toEqual(uuids.sort());
    expect(await refreshes(12)).toEqual([]);
    expect(await refresh(uuids[0]!)).toBeNull();
    expect(
      await world.rows(
        `SELECT sent_at IS NOT NULL AS sent, count(*)::int AS count FROM credentials GROUP BY 1`,
      ),
    ).toEqual([{ sent: true, count: 12 }]);
  });

  it.each([
    ["more are due than are wanted", 5],
    ["all that are due are wanted", 12],
  ])("gives each grant to one claimant only, if %s", async (_, most) => {
    await world.rows(
      `UPDATE credentials SET state = 'grant_pending', due_at = now(), leased_until = NULL, sent_at = NULL,
         grant_deadline = now() + interval '1 minute'`,
    );
    const claimed = (await Promise.all([grants(most), grants(most), grants(most)])).flat();
    claimed.push(...(await grants(12)));
    expect(claimed.map(({ uuid }) => uuid).sort()).toEqual(uuids.sort());
    expect(await grants(12)).toEqual([]);
    await world.rows(`UPDATE credentials SET state = 'active', grant_deadline = NULL, leased_until = NULL`);
  });

  it("makes a row that was not due due, so that a sweep finds it if its claimant dies", async () => {
    const [uuid] = uuids as [string];
    await world.rows(
      `UPDATE credentials SET due_at = now() + interval '4 hours', leased_until = NULL, sent_at = NULL WHERE uuid = $1`,
      [uuid],
    );
    expect(await refresh(uuid)).toMatchObject({ uuid });
    await world.rows(`UPDATE credentials SET leased_until = now() WHERE uuid = $1`, [uuid]);
    expect((await refreshes(12)).map((row) => row.uuid)).toContain(uuid);
  });

  it("restores the due time of a row that was not due when it is released", async () => {
    const [uuid] = uuids as [string];
    await world.rows(
      `UPDATE credentials SET due_at = '2100-01-01', leased_until = NULL, sent_at = NULL WHERE uuid = $1`,
      [uuid],
    );
    await releaseCredential(world.service.services, (await refresh(uuid))!);
    const [row] = await world.rows(`SELECT due_at, leased_until FROM credentials WHERE uuid = $1`, [uuid]);
    expect(row).toEqual({ due_at: new Date("2100-01-01"), leased_until: null });
  });

  it.each([
    ["a newer client secret has made it due", `due_at = now()`, "active"],
    [
      "it was given another grant",
      `due_at = now(), state = 'grant_pending', grant_deadline = now() + interval '1 minute'`,
      "grant_pending",
    ],
  ])("leaves the row due if, before the release, %s", async (_, change, state) => {
    const [uuid] = uuids as [string];
    await world.rows(
      `UPDATE credentials SET state = 'active', due_at = '2100-01-01', leased_until = NULL, sent_at = NULL WHERE uuid = $1`,
      [uuid],
    );
    const claimed = (await refresh(uuid))!;
    await world.rows(`UPDATE credentials SET ${change} WHERE uuid = $1`, [uuid]);
    await releaseCredential(world.service.services, claimed);
    const [row] = await world.rows(
      `SELECT state, due_at <= now() AS due, leased_until FROM credentials WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({ state, due: true, leased_until: null });
  });

  it("are not marked as sent after a later claim, even when both ask at the same moment", async () => {
    const [uuid] = uuids as [string];
    const [row] = await world.rows<{ lease: number }>(
      `UPDATE credentials SET leased_until = now() + interval '45 seconds' WHERE uuid = $1 RETURNING lease`,
      [uuid],
    );
    const { markSent } = world.service.services.credentials;
    const asked = [row!.lease - 1, row!.lease].map((lease) => markSent({ uuid, lease }));
    expect(await Promise.all(asked)).toEqual([false, true]);
  });

  it("do not mark grants as sent: a call that was never made has no unknown outcome", async () => {
    await world.rows(
      `UPDATE credentials SET state = 'grant_pending', due_at = now(), grant_deadline = now() + interval '1 minute',
         leased_until = NULL, sent_at = NULL`,
    );
    const claimed = await grants(12);
    expect(claimed).toHaveLength(12);
    expect(claimed.some(isMarked)).toBe(false);
    expect(await world.rows(`SELECT 1 FROM credentials WHERE sent_at IS NOT NULL`)).toEqual([]);
  });

  const ages: [string, ClaimedCredential["state"], number, number, boolean][] = [
    ["of a token pair, of this moment", "active", 0, 0, true],
    ["of one that is refused, too", "needs_reauth", 0, 0, true],
    ["of a grant", "grant_pending", 0, 0, false],
    ["of half a second ago", "active", 500, 500, true],
    ["of more than a second ago, as after a freeze", "active", 1_001, 1_001, false],
    ["of before the machine slept, when one clock stood still", "active", 5, 60_000, false],
    ["of before the clock was set back", "active", 5, -60_000, false],
  ];
  it.each(ages)(
    "isMarked tells whether the claim itself was the mark: %s",
    (_, state, passedMs, wallMs, expected) => {
      const claimedAt = { monotonicMs: performance.now() - passedMs, wallMs: Date.now() - wallMs };
      expect(isMarked({ state, claimedAt } as ClaimedCredential)).toBe(expected);
    },
  );
});
