import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { aGate } from "../support/a-vendor.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

// Races of the calls to the token endpoint, in the order that once lost something.

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

describe("stored tokens whose acknowledgement is lost", () => {
  const loseOne = () => after.set("store_tokens", () => Promise.reject(new Error("Query read timeout")));

  it("of a grant are recognised as stored", async () => {
    loseOne();
    const { addon } = await life.control.install({ plan: "basic" });
    await eventually(() =>
      expect(life.world.logged()).toMatch(
        new RegExp(`"uuid":"${addon.id}","requestId":"[^"]+","msg":"Grant exchanged`),
      ),
    );
    expect(await life.credential(addon.id)).toMatchObject({ state: "active", generation: 1 });
  });

  it("of a refresh are reported as fresh to the callers", async () => {
    const uuid = await life.settled();
    loseOne();
    expect(await refreshNow(life.world.service.services, uuid)).toMatchObject({ done: "stored" });
    expect(await life.credential(uuid)).toMatchObject({ state: "active", generation: 2 });
  });
});
