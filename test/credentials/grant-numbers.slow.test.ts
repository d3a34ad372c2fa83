import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

// Many grants at once, and the number of calls for them.

const asInProduction = { environment: { SWEEP_CRON: "*/15 * * * * *" }, parts: { pace: {} } };
let life: LifecycleWorld;
let slowest: ReturnType<typeof aSlowPlatform>;
beforeAll(async () => {
  slowest = aSlowPlatform();
  slowest.catch(() => undefined);
  life = await aLifecycle(asInProduction);
});
afterAll(async () => {
  await life.close();
  await (await slowest).slow.close();
});
afterEach(() => life.control.settings({ acceptDelayMs: 0 }));

it.each([
  [300, 1.1],
  [1_800, 3],
])(
  "a platform that registers our answers late loses no grant when it is %d ms late, with at most %f calls for each",
  async (acceptDelayMs, most) => {
    life.control.settings({ acceptDelayMs });
    const since = life.position();
    await life.become(await life.install(40), 1);
    expect(life.tokenCalls(since).length / 40).toBeLessThanOrEqual(most);
  },
);

it.each([
  ["ten minutes behind", -600],
  ["ten minutes ahead", 600],
])("grants are exchanged although the platform's clock is %s", async (_, seconds) => {
  life.control.advanceClock(seconds);
  try {
    await life.become(await life.install(10), 1);
  } finally {
    life.control.advanceClock(-seconds);
  }
});

it("a burst of provisions at a slow token endpoint loses no grant, with one call for each", async () => {
  life.control.fault("POST /oauth/token", { delayMs: 2_000 }, 100);
  const since = life.position();
  await life.become(await life.install(100), 1);
  expect(life.tokenCalls(since)).toHaveLength(100);
});

it("a slow answer of the token endpoint is awaited for 19 seconds with one call; after 20 seconds without an answer the call is repeated", async () => {
  const { uuids, slow } = await slowest;
  await slow.become(uuids, 1);
  const asked = slow.tokenCalls();
  expect(asked).toHaveLength(3 + 2 + 2);
  // The three answers were awaited to the end, without another call.
  const heard = asked.filter(({ fault, ms }) => fault?.delayMs && ms >= 19_000);
  expect(heard.map(({ response }) => response?.status)).toEqual([200, 200, 200]);
});

/** A world whose platform answers some calls after 19 seconds and others never, which passes while others are tested. */
async function aSlowPlatform() {
  const slow = await aLifecycle({ sandbox: { replayTokens: true }, ...asInProduction });
  slow.control.fault("POST /oauth/token", { delayMs: 19_000 }, 3);
  const uuids = await slow.install(3);
  await eventually(() => slow.control.faults().length === 0);
  slow.control.fault("POST /oauth/token", { hang: "after" }, 2);
  return { slow, uuids: [...uuids, ...(await slow.install(2))] };
}
