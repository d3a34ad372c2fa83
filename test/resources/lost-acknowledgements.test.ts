import { changePlan } from "../../src/resources/change-plan.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import { Refusal } from "../../src/errors.ts";
import { openContext } from "../../src/open-context.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually } from "../support/world.ts";

// A statement takes effect, and its acknowledgement is lost: a retry must not take its own work for another process's.

let life: LifecycleWorld;
/** Statements whose next acknowledgement is lost, and after how long, or after what. */
const lost = new Map<string, number | (() => Promise<unknown>)>();
/** Runs after the next transaction that queues a plan change, before its acknowledgement is lost. */
let afterQueued: (() => Promise<unknown>) | null = null;
beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(statement, values) {
      const rows = await database.query<never>(statement, values);
      const after = rows.length > 0 ? lost.get(statement.name) : undefined;
      if (after === undefined) return rows;
      lost.delete(statement.name);
      await (typeof after === "number" ? sleep(after) : after());
      throw new Error("Query read timeout");
    },
    async transaction(work) {
      const result = await database.transaction(work);
      const after = (result as { is?: string } | undefined)?.is === "queued" ? afterQueued : null;
      if (!after) return result;
      afterQueued = null;
      await after();
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

describe("the stored decision about a provision, when its acknowledgement is lost", () => {
  it("a refusal is followed by a clean-up without an alarm", async () => {
    life.vendor.next("provision", () => Promise.reject(new Refusal("Sold out.")));
    lost.set("answer_provisions", 0);
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
  ])("a result that is $what is carried out to its end", async ({ instead, status }) => {
    if (instead) life.vendor.next("provision", instead);
    lost.set("answer_provisions", 0);
    const { addon, response } = await life.control.install({ plan: "basic" });
    expect(response.status).toBe(status);
    await nothingLeft(addon.id);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned" });
  });
});

describe("stored tokens, when the acknowledgement is lost", () => {
  it("of a grant are recognised as stored", async () => {
    lost.set("store_tokens", 0);
    const { addon } = await life.control.install({ plan: "basic" });
    await nothingLeft(addon.id);
    await eventually(() =>
      expect(life.world.logged()).toMatch(
        new RegExp(`"uuid":"${addon.id}","requestId":"[^"]+","msg":"Grant exchanged`),
      ),
    );
    expect(life.world.logged()).not.toMatch(new RegExp(`"uuid":"${addon.id}","msg":"Tokens arrived`));
    const [row] = await life.world.rows(`SELECT generation FROM credentials WHERE uuid = $1`, [addon.id]);
    expect(row).toEqual({ generation: 1 });
  });

  it("of a refresh are reported as fresh to the callers", async () => {
    const uuid = await life.settled();
    lost.set("store_tokens", 0);
    expect(await life.world.service.services.credentials.refresh.now(uuid)).toMatchObject({ done: "stored" });
    expect(await life.credential(uuid)).toMatchObject({ state: "active", generation: 2 });
  });
});

describe("a stored plan change, when the acknowledgement is lost", () => {
  it.each([
    { what: "made", instead: null, statement: "settle_steps", status: 200 },
    {
      what: "put off",
      instead: () => Promise.resolve({ later: "Wait." }),
      statement: "settle_steps",
      status: 200,
    },
    {
      what: "accepted",
      instead: () => Promise.reject(new Error("The kiln is cold.")),
      statement: "accept_plan",
      status: 200,
    },
  ])("that was $what is not answered as for a deprovisioned resource", async (it) => {
    const uuid = await life.settled();
    if (it.instead) life.vendor.next("changePlan", it.instead);
    // Long enough for the change to be made by the next step.
    lost.set(it.statement, 2_500);
    const { response } = await life.control.changePlan(uuid, "premium");
    expect(response.status).toBe(it.status);
    await nothingLeft(uuid);
    expect(await life.resource(uuid)).toMatchObject({ state: "provisioned", plan: "premium" });
  });

  it("that was queued, and then claimed by another process, is not made twice", async () => {
    const gate = aGate();
    life.vendor.next("finish", async () => {
      await gate.opened;
      return { config: {} };
    });
    const { addon } = await life.control.install({ plan: "dedicated" });
    const uuid = addon.id;
    await eventually(() => expect(calls(uuid)).toContain("finish"));
    // As if the step before had ended, and another process had claimed this one.
    afterQueued = () =>
      life.world.rows(
        `WITH ended AS (DELETE FROM steps WHERE uuid = $1 AND kind = 'finish')
         UPDATE steps SET lease = lease + 1, attempts = attempts + 1, leased_until = now() + interval '30 seconds'
         WHERE uuid = $1 AND kind = 'change_plan'`,
        [uuid],
      );
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
    expect(calls(uuid)).not.toContain("changePlan");
    gate.open();
    await life.hurry(uuid);
    await nothingLeft(uuid);
  });

  it("is the plan in the end if it is answered after a change that another process made meanwhile", async () => {
    const request = aProvisionRequest({ oauth_grant: null });
    expect((await life.platform.provision(request)).status).toBe(200);
    const other = await openContext(teapotConfig(life.world.environment), {
      ...teapotParts,
      logTo: { write: () => undefined },
    });
    const later = () => changePlan(other, request.uuid, "premium", "another-request");
    lost.set("settle_steps", async () => expect((await later()).status).toBe(200));
    expect((await life.platform.changePlan(request.uuid, { plan: "dedicated" })).status).toBe(200);
    await other.close();
    expect(await life.resource(request.uuid)).toMatchObject({ plan: "dedicated" });
  });
});
