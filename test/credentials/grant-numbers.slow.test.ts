import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

// Many grants at once, and the number of calls for them.

const asInProduction = { environment: { SWEEP_CRON: "*/15 * * * * *" }, parts: { pace: {} } };
let life: LifecycleWorld;
beforeAll(async () => {
  life = await aLifecycle({ sandbox: { replayTokens: true }, ...asInProduction });
});
afterAll(() => life.close());
afterEach(() => life.control.settings({ acceptDelayMs: 0, replayTokens: false }));

// A machine may stand still for seconds: the answers come five seconds before the calls are given up.
it("an answer of the token endpoint after 15 seconds is awaited with one call; a call without an answer is repeated, and not before 20 seconds", async () => {
  life.control.fault("POST /oauth/token", { delayMs: 15_000 }, 3);
  const uuids = await life.install(3);
  await eventually(() => life.control.faults().length === 0);
  life.control.fault("POST /oauth/token", { hang: "after" }, 2);
  uuids.push(...(await life.install(2)));
  await life.become(uuids, 1);
  const asked = life.tokenCalls();
  expect(asked).toHaveLength(3 + 2 + 2);
  // The three answers were awaited to the end, without another call.
  const heard = asked.filter(({ fault, ms }) => fault?.delayMs && ms >= 15_000);
  expect(heard.map(({ response }) => response?.status)).toEqual([200, 200, 200]);
  const codeOf = ({ request }: (typeof asked)[number]) => (request.body as { code: string }).code;
  for (const first of asked.filter(({ fault }) => fault?.hang)) {
    const again = asked.find((call) => call !== first && codeOf(call) === codeOf(first))!;
    // From where the platform has read the one to where it has read the other, with a pause of a second between.
    expect(Date.parse(again.at) - Date.parse(first.at)).toBeGreaterThan(19_500);
  }
});

it.each([
  [300, 1.1],
  [1_800, 3],
])(
  "a platform that registers our answers late loses no grant when it is %d ms late, with at most %f calls for each",
  async (acceptDelayMs, most) => {
    life.control.settings({ acceptDelayMs });
    const since = life.position();
    const uuids: string[] = [];
    // A few at a time: of many, the last answer would reach the platform late by itself.
    for (let count = 0; count < 10; count++) uuids.push(...(await life.install(4)));
    await life.become(uuids, 1);
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
  life.control.fault("POST /oauth/token", { delayMs: 1_000 }, 100);
  const since = life.position();
  // None is exchanged before the platform has all answers, however long it takes to read them.
  const { pace } = life.world.service.services;
  const { exchangeAfterMs } = pace;
  Object.assign(pace, { exchangeAfterMs: 3_600_000 });
  const uuids = await life.install(100);
  Object.assign(pace, { exchangeAfterMs });
  await life.makeDue(uuids);
  life.world.service.services.jobs.wake("exchange-grants");
  await life.become(uuids, 1);
  expect(life.tokenCalls(since)).toHaveLength(100);
});
