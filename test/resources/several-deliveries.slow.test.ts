import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../src/database/database.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";

describe("several deliveries for one uuid", () => {
  let life: LifecycleWorld;
  /** Whether the database is unreachable. */
  let isAway: () => boolean = () => false;
  beforeAll(async () => {
    const silent = () => new Promise<never>((_, reject) => setTimeout(reject, 3_000, new Error("Query read timeout"))); // prettier-ignore
    const wrapDatabase = (database: Database): Database => ({
      ...database,
      query: (statement, values) => (isAway() ? silent() : database.query(statement, values)),
      transaction: (work) => (isAway() ? silent() : database.transaction(work)),
    });
    life = await aLifecycle({ parts: { wrapDatabase } });
  });
  afterEach(() => {
    isAway = () => false;
    life.vendor.asUsual();
  });
  afterAll(() => life.world.close());

  /** The answers to this many deliveries of one request at nearly the same moment, and how long each took. */
  const manyTimes = <Response>(times: number, send: () => Promise<Response>) =>
    Promise.all(
      Array.from({ length: times }, async (_, index) => {
        await sleep(index * 30);
        const since = performance.now();
        const response = await send();
        return { response, ms: performance.now() - since };
      }),
    );

  it.each(["provision", "plan change"])(
    "of a %s are all answered 503 within their own time while the database is silent, and nothing is done",
    async (what) => {
      const request = aProvisionRequest();
      const { uuid } = request;
      if (what === "plan change") expect((await life.platform.provision(request)).status).toBe(200);
      isAway = () => true;
      const send = () =>
        what === "provision"
          ? life.platform.provision(request)
          : life.platform.changePlan(uuid, { plan: "premium" });
      for (const { response, ms } of await manyTimes(20, send)) {
        expect(response.status).toBe(503);
        expect(ms).toBeLessThan(15_000);
      }
      isAway = () => false;
      await sleep(500);
      expect(life.vendor.callsOf(uuid, what === "provision" ? "provision" : "changePlan")).toEqual([]);
      expect((await send()).status).toBe(200);
    },
  );
});
