import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fuzzAuthorizations } from "../../workshop/fuzz/authorizations.ts";
import { createLogWatch } from "../../workshop/fuzz/log-watch.ts";
import { fuzzProvisions } from "../../workshop/fuzz/provisions.ts";
import { aWorld, QUICK, type World } from "../support/world.ts";

/** Cases that are always tried. Add the seed of a run of `npm run fuzz` that found something. */
const SEEDS = [7, 4_711, 20_260];
const CASES_PER_SEED = 250;
const HEADERS = 500;

const log = createLogWatch();
let world: World;
beforeAll(async () => {
  // Without exchanges: the sandbox does not know the grants made up here.
  const parts = { logTo: log, pace: { ...QUICK, exchangeAfterMs: 3_600_000 } };
  world = await aWorld({ environment: { WEB_JOBS: "off" }, parts });
});
afterAll(() => world.close());

it.each(SEEDS)(
  "invalid or odd provision requests of the seed %i are answered, stored completely or not at all, and revealed to nobody",
  async (seed) => {
    const { faults, answers, dearest } = await fuzzProvisions({ world, log, seed, count: CASES_PER_SEED });
    expect(faults).toEqual([]);
    // If all were refused, nothing would be tested.
    expect(answers["200"]! + answers["202"]!).toBeGreaterThan(CASES_PER_SEED / 4);
    expect(answers["400"]! + answers["422"]!).toBeGreaterThan(CASES_PER_SEED / 4);
    expect(dearest.filter(({ times }) => times > 50)).toEqual([]);
  },
);

it("the fuzz test itself finds a service that refuses valid or merely odd requests", async () => {
  const refusal = JSON.stringify({ id: "invalid_params", message: "No." });
  const stub = createServer((_, response) => response.writeHead(422).end(refusal)).listen(0, "127.0.0.1");
  await once(stub, "listening");
  try {
    const url = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    const refusing = { ...world, service: { url } } as unknown as World;
    const { faults } = await fuzzProvisions({ world: refusing, log, seed: 7, count: 300 });
    const found = (what: string) =>
      faults.filter((fault) => fault.startsWith(`${what}: refused without need`));
    for (const what of ["as usual", "a member too many", "a member is missing"])
      expect([what, found(what).length]).not.toEqual([what, 0]);
    for (const what of ["the text ends early", "a body around the body"]) expect(found(what)).toEqual([]);
  } finally {
    stub.close();
  }
});

it(`${HEADERS} wrong Authorization headers are all refused with the same answer`, async () => {
  const [seed] = SEEDS as [number];
  const { addonId: user, addonPassword: password } = world.sandbox.settings;
  const wrong = { url: world.service.url!, user, password, seed, count: HEADERS };
  expect((await fuzzAuthorizations(wrong)).faults).toEqual([]);
  expect(await world.rows(`SELECT uuid FROM resources`)).toEqual([]);
});
