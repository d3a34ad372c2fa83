import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { kitJson } from "../support/kit.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// A platform that answers dead codes and tokens with a 401 that gives no reason, as a wrong client secret may be.

const world = opened(() => aWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
beforeEach(() => void control().settings({ plain401: "tokens" }));
afterEach(() => void control().settings({ plain401: "never", acceptDelayMs: 0 }));

const control = () => world.sandbox.control;
const position = () => control().ledger().next;
const tokenCalls = (since: number) =>
  control()
    .ledger({ since })
    .entries.filter(({ path }) => path === "/oauth/token");
const install = async (many: number) =>
  Promise.all(
    Array.from({ length: many }, async () => (await control().install({ plan: "basic" })).addon.id),
  );
const states = (uuids: string[]) =>
  world.rows(
    `SELECT state, rejected_at IS NOT NULL AS refused FROM credentials WHERE uuid = ANY($1::uuid[]) ORDER BY 1, 2`,
    [uuids],
  );
const dueNow = (uuids: string[]) =>
  world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
const secret = async () =>
  (
    await world.rows(
      `SELECT rejected_at IS NOT NULL AS rejected, is_presumed AS presumed FROM client_secrets ORDER BY version DESC LIMIT 1`,
    )
  )[0];
const WORKS = { rejected: false, presumed: false };
const PRESUMED = { rejected: true, presumed: true };
const active = { state: "active", refused: false };

async function installed(many: number): Promise<string[]> {
  const uuids = await install(many);
  await world.quiet(uuids);
  return uuids;
}

/** Tokens that the platform has ended are not looked at by the tests that follow. */
const forget = (uuids: string[]) => Promise.all(uuids.map((uuid) => control().deprovision(uuid)));

describe("a 401 without a reason", () => {
  it("for one refresh token counts as its refusal, and stops no other", async () => {
    const [dead, ...others] = (await installed(5)) as [string, ...string[]];
    control().revoke(dead, "refresh");
    await dueNow([dead]);
    await eventually(async () => expect(await states([dead])).toEqual([{ state: "active", refused: true }]));
    expect(await secret()).toEqual(WORKS);
    const since = position();
    await dueNow(others);
    await eventually(() => tokenCalls(since).length === 4);
    expect(await secret()).toEqual(WORKS);
    await forget([dead, ...others]);
  });

  it("for eight codes stops no grant: each later one is exchanged, and shows that the secret works", async () => {
    control().settings({ acceptDelayMs: 3_600_000 });
    const dead = await install(8);
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    await eventually(async () =>
      expect(await states(dead)).toEqual(Array(8).fill({ state: "grant_pending", refused: true })),
    );
    control().settings({ acceptDelayMs: 0 });
    const good = await installed(3);
    expect(await states(good)).toEqual([active, active, active]);
    expect(await secret()).toEqual(WORKS);
    await forget([...dead, ...good]);
  });

  it("for two refresh tokens counts again at each retry, unless somebody succeeded since the first one", async () => {
    const uuids = await installed(2);
    for (const uuid of uuids) control().revoke(uuid, "refresh");
    const retry = (refusedBefore: string) =>
      world.rows(
        `UPDATE credentials SET rejected_at = now() - $2::interval, attempts = 3, due_at = now() WHERE uuid = ANY($1::uuid[])`,
        [uuids, refusedBefore],
      );
    const refused = () =>
      eventually(async () =>
        expect(
          await world.rows(
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
    await forget([...uuids, ...(await installed(1))]);
  });

  it("for several refresh tokens is taken for a wrong client secret; any success clears it", async () => {
    const uuids = await installed(6);
    for (const uuid of uuids.slice(1)) control().revoke(uuid, "refresh");
    const since = position();
    await dueNow(uuids.slice(1));
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    expect(world.logged()).toContain(`"alarm":"client_secret_rejected"`);
    // Only the first was recorded as a refusal of its token; the others wait as they were.
    await eventually(async () =>
      expect((await states(uuids)).filter((row) => row["refused"])).toHaveLength(1),
    );
    expect(tokenCalls(since).length).toBeLessThan(20);
    await dueNow([uuids[0]!]);
    await world.rows(`UPDATE client_secrets SET probe_at = now()`);
    await eventually(async () =>
      expect(await world.rows(`SELECT generation FROM credentials WHERE uuid = $1`, [uuids[0]])).toEqual([
        { generation: 2 },
      ]),
    );
    await forget(uuids);
  });
});

describe("kit secret set, where a wrong secret gets such a 401 too", () => {
  const set = (value: string) => kitJson(world.environment, ["secret", "set"], value);

  it("takes the right one after a reset, with a warning, and the grants that wait are exchanged", async () => {
    control().settings({ plain401: "always" });
    const uuids = await installed(3);
    const { secret: value } = control().resetClientSecret();
    const waiting = await install(1);
    await dueNow(uuids);
    await eventually(async () => expect(await secret()).toEqual(PRESUMED));
    expect(await set(value)).toEqual({
      code: 0,
      data: expect.objectContaining({ fresh: 3, unconfirmed: expect.stringContaining("answered 401") }),
    });
    await world.quiet(waiting);
    expect(await states([...uuids, ...waiting])).toEqual(Array(4).fill(active));
    expect(await secret()).toEqual(WORKS);
    await forget([...uuids, ...waiting]);
  });

  it("ends, and says what is not known, where every token that is left is dead", async () => {
    const uuids = await installed(3);
    const { secret: value } = control().resetClientSecret();
    for (const uuid of uuids) control().revoke(uuid, "refresh");
    expect(await set(value)).toEqual({
      code: 0,
      data: expect.objectContaining({ fresh: 0, unconfirmed: expect.stringContaining("no reason") }),
    });
    await forget(uuids);
  }, 60_000);
});
