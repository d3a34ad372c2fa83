import { kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// A platform that answers dead codes and tokens with a 401 that gives no reason, as a wrong client secret may be.

const life = opened(() => aLifecycle());
beforeEach(() => void life.control.settings({ plain401: "tokens" }));
afterEach(() => void life.control.settings({ plain401: "never", acceptDelayMs: 0 }));

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

describe("a 401 without a reason", () => {
  it("for eight codes stops no grant: each later one is exchanged, and shows that the secret works", async () => {
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

  it("for two refresh tokens counts again at each retry, unless somebody succeeded since the first one", async () => {
    const uuids = await life.world.installed(2);
    for (const uuid of uuids) life.control.revoke(uuid, "refresh");
    const retry = (refusedBefore: string) =>
      life.world.rows(
        `UPDATE credentials SET rejected_at = now() - $2::interval, attempts = 3, due_at = now() WHERE uuid = ANY($1::uuid[])`,
        [uuids, refusedBefore],
      );
    const refused = () =>
      eventually(async () =>
        expect(
          await life.world.rows(
            `SELECT uuid FROM credentials WHERE uuid = ANY($1::uuid[]) AND state = 'active' AND attempts = 4`,
            [uuids],
          ),
        ).toHaveLength(2),
      );
    await retry("10 minutes");
    await refused();
    expect(await secret()).toEqual(WORKS);
    await retry("0");
    await refused();
    expect(await secret()).toEqual(PRESUMED);
    await forget([...uuids, ...(await life.world.installed(1))]);
  });

  it("for several refresh tokens is taken for a wrong client secret; any success clears it", async () => {
    const uuids = await life.world.installed(6);
    for (const uuid of uuids.slice(1)) life.control.revoke(uuid, "refresh");
    const since = life.position();
    await life.makeDue(uuids.slice(1));
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    expect(life.world.logged()).toContain(`"alarm":"client_secret_rejected"`);
    // Only the first was recorded as a refusal of its token; the others wait as they were.
    await eventually(async () =>
      expect((await states(uuids)).filter((row) => row["refused"])).toHaveLength(1),
    );
    expect(life.tokenCalls(since).length).toBeLessThan(20);
    await life.makeDue([uuids[0]!]);
    await life.world.rows(`UPDATE client_secrets SET probe_at = now()`);
    await life.becomes(uuids[0]!, { generation: 2 });
    await forget(uuids);
  });
});

describe("kit secret set, where a wrong secret gets such a 401 too", () => {
  const set = (value: string) => kitJson(life.world.environment, ["secret", "set"], value);

  it("takes the right one after a reset, with a warning, and the grants that wait are exchanged", async () => {
    life.control.settings({ plain401: "always" });
    const uuids = await life.world.installed(3);
    const { secret: value } = life.control.resetClientSecret();
    const waiting = await life.install(1);
    await life.makeDue(uuids);
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    expect(await set(value)).toEqual({
      code: 0,
      data: expect.objectContaining({ fresh: 3, unconfirmed: expect.stringContaining("answered 401") }),
    });
    await life.world.quiet(waiting);
    expect(await states([...uuids, ...waiting])).toEqual(Array(4).fill(active));
    expect(await secret()).toEqual(WORKS);
    await forget([...uuids, ...waiting]);
  });
});
