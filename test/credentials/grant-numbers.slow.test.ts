import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, type World } from "../support/world.ts";
import type { FaultAction } from "../../packages/sandbox/index.ts";

// Many grants at once, and the number of calls for them.

let world: World;
let slowest: ReturnType<typeof aSlowPlatform>;
beforeAll(async () => {
  slowest = aSlowPlatform();
  slowest.catch(() => undefined);
  world = await aWorld({ parts: { pace: {} } });
});
afterAll(async () => {
  await world.close();
  await (await slowest).slow.close();
});
afterEach(async () => {
  const { control } = world.sandbox;
  control.clearFaults();
  control.settings({ acceptDelayMs: 0 });
});

const install = (many: number) => tokenPairs(world).install(many);

const become = (uuids: string[], state: string, withinMs = 30_000) =>
  eventually(async () => {
    const found = await world.rows(
      `SELECT state, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1`,
      [uuids],
    );
    expect(found).toEqual([{ state, count: uuids.length }]);
  }, withinMs);

const position = () => world.sandbox.control.ledger().next;
const calls = (since: number) => tokenPairs(world).tokenCalls(since).length;

it.each([
  [300, 1.1],
  [1_800, 3],
])(
  "a platform that registers our answers late loses no grant when it is %d ms late, with at most %f calls for each",
  async (acceptDelayMs, most) => {
    world.sandbox.control.settings({ acceptDelayMs });
    const since = position();
    const uuids = await install(40);
    await become(uuids, "active");
    expect(calls(since) / 40).toBeLessThanOrEqual(most);
  },
);

it.each([
  ["ten minutes behind", -600],
  ["ten minutes ahead", 600],
])("grants are exchanged although the platform's clock is %s", async (_, seconds) => {
  world.sandbox.control.advanceClock(seconds);
  try {
    await become(await install(10), "active");
  } finally {
    world.sandbox.control.advanceClock(-seconds);
  }
});

it("a burst of provisions at a slow token endpoint loses no grant, with one call for each", async () => {
  world.sandbox.control.fault("POST /oauth/token", { delayMs: 2_000 }, 100);
  const since = position();
  const uuids = await install(100);
  await become(uuids, "active", 60_000);
  expect(calls(since)).toBe(100);
});

describe("a lost answer of the token endpoint", () => {
  const lost: [string, FaultAction][] = [
    ["cut off before its first byte", { reset: "after" }],
    ["cut off in its middle", { truncate: true }],
  ];

  it.each(lost)("ends every grant as outcome_unknown and none as active: %s", async (_, action) => {
    world.sandbox.control.fault("POST /oauth/token", action, 1_000);
    const uuids = await install(20);
    await eventually(async () => {
      const [row] = await world.rows(
        `SELECT count(*)::int AS tried FROM credentials WHERE uuid = ANY($1::uuid[]) AND outcome_unknown AND attempts > 0`,
        [uuids],
      );
      expect(row).toEqual({ tried: 20 });
    });
    await world.rows(
      `UPDATE credentials SET grant_deadline = now() - interval '1 second', due_at = now() - interval '1 second' WHERE uuid = ANY($1::uuid[])`,
      [uuids],
    );
    world.service.services.jobs.wakeAll();
    await become(uuids, "grant_lost");
    const [row] = await world.rows(
      `SELECT array_agg(DISTINCT reason) AS reasons FROM credentials WHERE uuid = ANY($1::uuid[])`,
      [uuids],
    );
    expect(row).toEqual({ reasons: ["outcome_unknown"] });
  });
});

it("a slow answer of the token endpoint is awaited for 19 seconds with one call; after 20 seconds without an answer the call is repeated", async () => {
  const { uuids, slow } = await slowest;
  await slow.quiet(uuids);
  const asked = tokenPairs(slow).tokenCalls();
  expect(asked).toHaveLength(3 + 2 + 2);
  // The three answers were awaited to the end, without another call.
  const heard = asked.filter(({ fault, ms }) => fault?.delayMs && ms >= 19_000);
  expect(heard.map(({ response }) => response?.status)).toEqual([200, 200, 200]);
});

/** A world whose platform answers some calls after 19 seconds and others never, which passes while others are tested. */
async function aSlowPlatform() {
  const slow = await aWorld({ sandbox: { replayTokens: true }, parts: { pace: {} } });
  const { control } = slow.sandbox;
  const { install } = tokenPairs(slow);
  control.fault("POST /oauth/token", { delayMs: 19_000 }, 3);
  const uuids = await install(3);
  await eventually(() => control.faults().length === 0);
  control.fault("POST /oauth/token", { hang: "after" }, 2);
  return { slow, uuids: [...uuids, ...(await install(2))] };
}
