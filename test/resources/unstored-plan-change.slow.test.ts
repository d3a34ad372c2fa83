import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import { Refusal } from "../../src/errors.ts";
import type { YourService } from "../../src/resources/contract.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually } from "../support/world.ts";

// The vendor's function was called for a plan change, and its result cannot be stored while the platform waits.

let life: LifecycleWorld;
/** Statements that fail as on a locked table. */
let locked: string[] = [];
/** A statement that takes effect without an acknowledgement. */
let unheard = "";
beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(statement, values) {
      if (locked.includes(statement.name))
        throw Object.assign(new Error("lock timeout"), { code: "55P03", severity: "ERROR" });
      const rows = await database.query<never>(statement, values);
      if (statement.name === unheard) throw new Error("Query read timeout");
      return rows;
    },
  });
  life = await aLifecycle({ parts: { wrapDatabase } });
});
afterAll(() => life.world.close());

const ENDS = ["settle_steps", "accept_plan"];

it("a plan change whose result cannot be stored is answered 202 and finished later, or 422 if the service refuses it", async () => {
  const gate = aGate();
  const outcomes = [
    { instead: null, status: 202, plan: "premium" },
    { instead: () => Promise.resolve({ later: "Wait." }), status: 202, plan: "premium" },
    { instead: () => Promise.reject(new Error("The kiln is cold.")), status: 202, plan: "premium" },
    {
      instead: async (...given: Parameters<YourService["changePlan"]>) => {
        await gate.opened;
        return teapots.changePlan(...given);
      },
      status: 202,
      plan: "premium",
    },
    { instead: () => Promise.reject(new Refusal("Too much tea in it.")), status: 422, plan: "basic" },
  ];
  const uuids: string[] = [];
  for (const _ of outcomes) uuids.push(await life.settled());
  locked = ENDS;
  const answers = [];
  for (const [index, { instead }] of outcomes.entries()) {
    const uuid = uuids[index]!;
    if (instead) life.vendor.next("changePlan", instead);
    answers.push(life.control.changePlan(uuid, "premium"));
    await eventually(() => expect(life.vendor.callsOf(uuid, "changePlan")).toHaveLength(1));
  }
  for (const [index, { response }] of (await Promise.all(answers)).entries()) {
    expect({ index, status: response.status }).toEqual({ index, status: outcomes[index]!.status });
    expect(response.ms).toBeLessThan(14_000);
    if (response.status === 202)
      expect(response.body).toEqual({ message: "The change to premium takes a little longer." });
  }
  // Whatever happens to their steps meanwhile, what the platform was told stays.
  locked = [];
  gate.open();
  for (const [index, { plan }] of outcomes.entries()) {
    const uuid = uuids[index]!;
    await eventually(async () => expect(await life.resource(uuid)).toMatchObject({ plan }), 20_000);
  }
}, 90_000);

it("a plan change that was answered 202, could not be stored for long, and is refused in the end raises one alarm", async () => {
  const uuid = await life.settled();
  const gate = aGate();
  life.vendor.next("changePlan", async () => {
    await gate.opened;
    throw new Refusal("Too much tea in it.");
  });
  locked = ENDS;
  expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
  gate.open();
  // Longer than one statement may wait.
  await sleep(11_000);
  const alarms = () =>
    life.world
      .logged()
      .split("\n")
      .filter((line) => line.includes('"alarm":"plan_change_refused"') && line.includes(uuid));
  expect(alarms()).toEqual([]);
  locked = ["settle_steps"];
  await sleep(2_000);
  expect(alarms()).toEqual([]);
  locked = [];
  await eventually(() => expect(alarms()).toHaveLength(1), 20_000);
  expect(await life.steps(uuid)).toEqual([]);
  expect(await life.resource(uuid)).toMatchObject({ plan: "basic" });
}, 90_000);

it("a plan change that was stored without an acknowledgement does not override the change after it", async () => {
  // Without a token the update at the platform stays: the step exists, and is no plan change any more.
  const request = aProvisionRequest({ oauth_grant: null });
  expect((await life.platform.provision(request)).status).toBe(200);
  unheard = "settle_steps";
  locked = ["accept_plan"];
  expect((await life.platform.changePlan(request.uuid, { plan: "premium" })).status).toBe(202);
  unheard = "";
  expect((await life.platform.changePlan(request.uuid, { plan: "basic" })).status).toBe(200);
  locked = [];
  await sleep(2_000);
  expect(await life.resource(request.uuid)).toMatchObject({ plan: "basic" });
}, 60_000);
