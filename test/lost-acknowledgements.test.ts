import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../src/database/database.ts";
import { Refusal } from "../src/errors.ts";
import { aLifecycle, type LifecycleWorld } from "./support/lifecycle.ts";
import { eventually } from "./support/world.ts";

// A statement takes effect, and its acknowledgement is lost: who tries again must not take their own work for another's.

let life: LifecycleWorld;
/** Statements whose next acknowledgement is lost, and how long after. */
const lost = new Map<string, number>();
beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(statement, values) {
      const rows = await database.query<never>(statement, values);
      const afterMs = rows.length > 0 ? lost.get(statement.name) : undefined;
      if (afterMs === undefined) return rows;
      lost.delete(statement.name);
      await wait(afterMs);
      throw new Error("Query read timeout");
    },
  });
  life = await aLifecycle({ parts: { wrapDatabase } });
});
afterAll(() => life.world.close());
afterEach(() => {
  expect([...lost.keys()]).toEqual([]);
  life.vendor.asUsual();
});

const nothingLeft = (uuid: string) => eventually(async () => expect(await life.steps(uuid)).toEqual([]));
const calls = (uuid: string) =>
  life.vendor.calls.filter((call) => call.uuid === uuid).map(({ what }) => what);

describe("the decision about a provision", () => {
  it("that was refused is cleaned up after, and is no alarm", async () => {
    life.vendor.next("provision", () => Promise.reject(new Refusal("Sold out.")));
    lost.set("decide_provision", 0);
    const { addon, response } = await life.control.install({ plan: "basic" });
    expect(response.status).toBe(422);
    await eventually(() => expect(calls(addon.id)).toEqual(["provision", "deprovision"]));
    await nothingLeft(addon.id);
    expect(await life.resource(addon.id)).toMatchObject({ state: "failed" });
    expect(life.world.logged()).not.toContain(`"alarm":"provision_failed"`);
  });

  it.each([
    { what: "done", instead: null, status: 200 },
    { what: "put off", instead: () => Promise.resolve({ later: "Wait." }), status: 202 },
    { what: "a failure", instead: () => Promise.reject(new Error("The kiln is cold.")), status: 202 },
  ])("that it is $what is followed to its end", async ({ instead, status }) => {
    if (instead) life.vendor.next("provision", instead);
    lost.set("decide_provision", 0);
    const { addon, response } = await life.control.install({ plan: "basic" });
    expect(response.status).toBe(status);
    await nothingLeft(addon.id);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned" });
  });
});

describe("a plan change", () => {
  it.each([
    { what: "made", instead: null, statement: "settle_done", status: 200 },
    {
      what: "put off",
      instead: () => Promise.resolve({ later: "Wait." }),
      statement: "settle_later",
      status: 202,
    },
    {
      what: "accepted",
      instead: () => Promise.reject(new Error("The kiln is cold.")),
      statement: "accept_plan",
      status: 202,
    },
  ])("that was $what is not answered as if the resource were gone", async (it) => {
    const uuid = await life.settled();
    if (it.instead) life.vendor.next("changePlan", it.instead);
    // Longer than it takes until somebody is at the next step.
    lost.set(it.statement, 2_500);
    const { response } = await life.control.changePlan(uuid, "premium");
    expect(response.status).toBe(it.status);
    await nothingLeft(uuid);
    expect(await life.resource(uuid)).toMatchObject({ state: "provisioned", plan: "premium" });
  });
});
