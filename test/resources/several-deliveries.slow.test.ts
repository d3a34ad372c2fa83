import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../src/database/database.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { opened } from "../support/world.ts";

let isAway = false;
const silent = () => sleep(3_000).then(() => Promise.reject(new Error("Query read timeout")));
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (statement, values) => (isAway ? silent() : database.query(statement, values)),
  transaction: (work) => (isAway ? silent() : database.transaction(work)),
});
const life = opened(() => aLifecycle({ parts: { wrapDatabase } }));

it("several deliveries of one provision are all answered 503 within their own time while the database is silent, and nothing is done", async () => {
  const request = aProvisionRequest();
  isAway = true;
  const answers = Array.from({ length: 20 }, async (_, index) => {
    await sleep(index * 30);
    const since = performance.now();
    const { status } = await life.platform.provision(request);
    return { status, isInTime: performance.now() - since < 15_000 };
  });
  expect(await Promise.all(answers)).toEqual(Array(20).fill({ status: 503, isInTime: true }));
  isAway = false;
  await sleep(500);
  expect(life.vendor.callsOf(request.uuid, "provision")).toEqual([]);
  expect((await life.platform.provision(request)).status).toBe(200);
});
