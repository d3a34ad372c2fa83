import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import { Refusal } from "../../src/errors.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

// Races: each test makes two events happen in the order that once lost something.

let life: LifecycleWorld;
/** Runs once, before a statement of this name. */
const before = new Map<string, () => Promise<unknown>>();
/** Runs once, when a statement of this name has returned rows, before the service has them. */
const after = new Map<string, () => Promise<unknown>>();
/** Delays the next exchange's answer after the platform has given it. */
let exchangeHeld: Promise<void>[] = [];

beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(statement, values) {
      const first = before.get(statement.name);
      before.delete(statement.name);
      await first?.();
      const rows = await database.query<never>(statement, values);
      if (rows.length > 0) {
        const last = after.get(statement.name);
        after.delete(statement.name);
        await last?.();
      }
      return rows;
    },
  });
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    async exchange(...args) {
      const held = exchangeHeld.shift();
      const answer = await endpoint.exchange(...args);
      await held;
      return answer;
    },
  });
  life = await aLifecycle({ parts: { wrapDatabase, wrapTokenEndpoint } });
});
afterAll(() => life.world.close());
afterEach(() => {
  before.clear();
  after.clear();
  exchangeHeld = [];
  life.vendor.asUsual();
  life.control.clearFaults();
});

const becomesActive = (uuid: string) =>
  eventually(async () => expect(await life.credential(uuid)).toMatchObject({ state: "active" }));

describe("tokens that are to be stored", () => {
  it("wait for a locked row, and are not lost", async () => {
    const { addon } = await life.control.install({ plan: "basic" });
    before.set("store_tokens", async () => {
      before.set("store_tokens", () => Promise.resolve());
      throw Object.assign(new Error("canceling statement due to lock timeout"), {
        code: "55P03",
        severity: "ERROR",
      });
    });
    await becomesActive(addon.id);
    expect(life.exchangesOf(life.requestFor(addon.id).oauth_grant.code)).toHaveLength(1);
  });

  it("are not requested by a process whose lease was lost before its call", async () => {
    before.set("mark_sent", () =>
      life.world.rows(
        `UPDATE credentials SET lease = lease + 1, leased_until = now() + interval '3 seconds' WHERE state = 'grant_pending'`,
      ),
    );
    const { addon } = await life.control.install({ plan: "basic" });
    await eventually(() => expect(before.has("mark_sent")).toBe(false));
    const { code } = life.requestFor(addon.id).oauth_grant;
    await sleep(300);
    expect(life.exchangesOf(code)).toHaveLength(0);
    await becomesActive(addon.id);
    expect(life.exchangesOf(code)).toHaveLength(1);
  });

  it("are not requested again by a process that was frozen after its claim and lost it", async () => {
    const uuid = await life.settled();
    const asked = life.control.ledger().next;
    let isAwake = false;
    after.set("claim_refreshes", async () => {
      await life.world.rows(
        `UPDATE credentials SET lease = lease + 1, leased_until = NULL, due_at = now() + interval '1 hour' WHERE uuid = $1`,
        [uuid],
      );
      await sleep(1_050);
      isAwake = true;
    });
    await life.world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [uuid]);
    life.world.service.services.jobs.wake("refresh-tokens");
    await eventually(() => expect(isAwake).toBe(true));
    await sleep(300);
    const { entries } = life.control.ledger({ since: asked });
    expect(entries.filter(({ path }) => path === "/oauth/token")).toEqual([]);
  });

  it("do not delay the grants of others", async () => {
    const gate = aGate();
    exchangeHeld = [gate.opened];
    const slow = await life.control.install({ plan: "basic" });
    await eventually(() => expect(exchangeHeld).toHaveLength(0));
    const quick = await life.control.install({ plan: "basic" });
    await becomesActive(quick.addon.id);
    expect(await life.credential(slow.addon.id)).toMatchObject({ state: "grant_pending" });
    gate.open();
    await becomesActive(slow.addon.id);
  });
});

describe("a deprovision", () => {
  it("during the wait of a plan change for its lock leaves nothing of that change", async () => {
    const uuid = await life.settled();
    const running = aGate();
    life.vendor.next("changePlan", async () => {
      await running.opened;
      return { config: { TEAPOT_URL: "https://late.example" } };
    });
    const changing = life.control.changePlan(uuid, "premium");
    await eventually(() => expect(life.vendor.callsOf(uuid, "changePlan")).toHaveLength(1));
    const gone = await life.control.deprovision(uuid).catch((error: unknown) => error);
    running.open();
    await changing;
    expect(gone).toBeDefined();
    await eventually(async () => expect((await life.resource(uuid))?.state).toBe("deprovisioned"));
    await life.hurry(uuid);
    await eventually(async () => expect(await life.steps(uuid)).toEqual([]));
    const [row] = await life.world.rows(
      `SELECT sealed_config, sealed_answer FROM resources WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({ sealed_config: null, sealed_answer: null });
    expect(life.vendor.callsOf(uuid, "deprovision").length).toBeGreaterThan(0);
  });

  it("removes whatever other steps are still queued for a tombstone", async () => {
    const uuid = await life.settled();
    await life.world.rows(`INSERT INTO steps (uuid, kind) VALUES ($1, 'announce')`, [uuid]);
    await life.control.deprovision(uuid);
    await life.world.rows(`INSERT INTO steps (uuid, kind, due_at) VALUES ($1, 'change_plan', now())`, [uuid]);
    // If a sweep had just started the update, the clean-up would wait 30 s for its lease, which the test does not.
    await life.world.rows(
      `UPDATE steps SET leased_until = NULL WHERE uuid = $1 AND kind = 'clean_up' AND attempts = 0`,
      [uuid],
    );
    await eventually(async () => expect(await life.steps(uuid)).toEqual([]));
    expect(life.vendor.callsOf(uuid, "deprovision")).toHaveLength(1);
    expect(life.vendor.callsOf(uuid, "changePlan")).toHaveLength(0);
  });
});

describe("a provision that was put off", () => {
  it("and then fails is reported to the platform once there is a token, whatever fails on the way", async () => {
    life.vendor.next("finish", () => Promise.reject(new Refusal("The kiln broke.")));
    life.control.fault("POST /addons/*/actions/deprovision", { status: 503 }, 1);
    const { addon } = await life.control.install({ plan: "dedicated" });
    await eventually(async () => expect((await life.resource(addon.id))?.state).toBe("failed"));
    expect(life.actionsOf(addon.id).at(-1)).toMatch(/^deprovision 2/);
  });

  it("is answered 202 to a repeated request when the process that had it is gone", async () => {
    const uuid = await life.settled();
    // As if another process handled the request: the row exists, undecided, and its step is leased.
    await life.world.rows(
      `WITH r AS (UPDATE resources SET state = 'provisioning', answer_status = NULL, sealed_answer = NULL WHERE uuid = $1)
       INSERT INTO steps (uuid, kind, due_at, lease, leased_until) VALUES ($1, 'provision', now(), 1, now() + interval '30 seconds')`,
      [uuid],
    );
    const repeated = await life.control.redeliver(uuid);
    expect(repeated.response.status).toBe(202);
    await life.hurry(uuid);
    await eventually(async () => expect((await life.resource(uuid))?.state).toBe("provisioned"));
  });
});

describe("plan changes", () => {
  it("that arrive while a plan change is being finished end with the last one accepted", async () => {
    const gate = aGate();
    life.vendor.next("finish", async () => {
      await gate.opened;
      return { config: { TEAPOT_URL: "https://dedicated.example" } };
    });
    const { addon } = await life.control.install({ plan: "dedicated" });
    await eventually(() => expect(life.vendor.callsOf(addon.id, "finish")).toHaveLength(1));
    const statuses = [
      (await life.control.changePlan(addon.id, "basic")).response.status,
      (await life.control.changePlan(addon.id, "dedicated")).response.status,
    ];
    expect(statuses).toEqual([202, 202]);
    gate.open();
    await eventually(async () => expect(await life.steps(addon.id)).toEqual([]));
    const [row] = await life.world.rows(`SELECT plan, applied_plan FROM resources WHERE uuid = $1`, [
      addon.id,
    ]);
    expect(row).toEqual({ plan: "dedicated", applied_plan: "dedicated" });
    expect(life.vendor.callsOf(addon.id, "finish")[0]).toMatchObject({ plan: "dedicated" });
  });
});

describe("an error of the vendor's code", () => {
  it("that quotes a config value shows it neither in the log nor in the database", async () => {
    const uuid = await life.settled();
    const secret = "a-config-value-nobody-may-see";
    life.vendor.next("changePlan", () => Promise.resolve({ config: { TEAPOT_TOKEN: secret } }));
    await life.control.changePlan(uuid, "premium");
    await eventually(async () => expect(await life.steps(uuid)).toEqual([]));
    life.vendor.next("changePlan", () => Promise.reject(new Error("First try fails.")));
    life.vendor.next("changePlan", () => Promise.reject(new Error(`Could not set ${secret}.`)));
    await life.control.changePlan(uuid, "basic");
    await life.hurry(uuid);
    await eventually(() => expect(life.vendor.callsOf(uuid, "changePlan").length).toBeGreaterThanOrEqual(3));
    await eventually(() => expect(life.world.logged()).toMatch(/Could not set \[secret\]\./));
    expect(life.world.logged()).not.toContain(secret);
    const errors = await life.world.rows<{ last_error: string | null }>(
      `SELECT last_error FROM steps WHERE uuid = $1`,
      [uuid],
    );
    expect(JSON.stringify(errors)).not.toContain(secret);
  });
});
