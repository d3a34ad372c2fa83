import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import type { NotIssued, TokenEndpoint } from "../../src/platform/oauth.ts";
import { aGate } from "../support/a-vendor.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

// Races of the calls to the token endpoint, in the order that once lost something; and events between a call's answer and
// its database write: another code, and a database that is away.

let life: LifecycleWorld;
/** Runs once, before a statement of this name. */
const before = new Map<string, () => Promise<unknown>>();
/** Runs once, when a statement of this name has returned rows, before the service has them. */
const after = new Map<string, () => Promise<unknown>>();
/** The result of the next exchange, whatever the platform answers. */
let exchanged: (() => Promise<NotIssued>) | null = null;
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
      const instead = exchanged;
      exchanged = null;
      if (instead) return instead();
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

const away = () => Promise.reject(new Error("Connection terminated unexpectedly"));
const credential = async (uuid: string) =>
  (
    await life.world.rows<{ state: string; attempts: number; unknown: boolean; held: boolean }>(
      `SELECT state, attempts, outcome_unknown AS unknown, leased_until IS NOT NULL AS held FROM credentials WHERE uuid = $1`,
      [uuid],
    )
  )[0];
const uuidOfLast = async () =>
  (await life.world.rows<{ uuid: string }>(`SELECT uuid FROM resources ORDER BY created_at DESC LIMIT 1`))[0]!
    .uuid;

describe("grant exchange, interrupted between the platform's answer and the database write", () => {
  it("retries a refused code soon when the database was away, and does not record an unknown outcome", async () => {
    life.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } }, 1_000);
    before.set("settle_credential", away);
    const { addon } = await life.control.install({ plan: "basic" });
    await eventually(async () => {
      const row = await credential(addon.id);
      expect(row).toMatchObject({ held: false, unknown: false });
      expect(row!.attempts).toBeGreaterThan(0);
    });
    life.control.clearFaults();
    await eventually(async () => expect(await life.credential(addon.id)).toMatchObject({ state: "active" }));
  });

  it("retries soon when the client secret was rejected while the database was away", async () => {
    life.control.fault("POST /oauth/token", { status: 401, body: { error: "invalid_client" } });
    before.set("release_credential", away);
    const { addon } = await life.control.install({ plan: "basic" });
    await eventually(() => expect(before.size).toBe(0));
    await eventually(async () =>
      expect(await credential(addon.id)).toEqual({
        ...{ state: "grant_pending", held: false, unknown: false, attempts: 0 },
      }),
    );
    await life.world.rows(`UPDATE client_secrets SET rejected_at = NULL, probe_at = NULL`);
    await eventually(async () => expect(await life.credential(addon.id)).toMatchObject({ state: "active" }));
  });

  it("keeps the mark of an unknown outcome when a new code is delivered during the call", async () => {
    life.control.fault(
      "POST /oauth/token",
      { status: 503, body: { error: "temporarily_unavailable" } },
      1_000,
    );
    exchanged = async () => {
      await life.control.redeliver(await uuidOfLast(), { newCode: true });
      return { outcome: "unknown", error: { id: "timed_out", message: "No answer." } };
    };
    const { addon } = await life.control.install({ plan: "basic" });
    await eventually(async () => {
      const row = await credential(addon.id);
      expect(row).toMatchObject({ state: "grant_pending", unknown: true });
      expect(row!.attempts).toBeGreaterThan(0);
    });
    life.control.clearFaults();
    await eventually(async () =>
      expect(await credential(addon.id)).toMatchObject({ state: "active", unknown: false }),
    );
  });

  it("replaces a quarantined code that cannot be decrypted by the code of a repeated provision", async () => {
    life.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } }, 1_000);
    const { addon } = await life.control.install({ plan: "basic" });
    const flip = "set_byte(sealed_grant_code, 60, get_byte(sealed_grant_code, 60) # 1)";
    await life.world.rows(`UPDATE credentials SET sealed_grant_code = ${flip} WHERE uuid = $1`, [addon.id]);
    await eventually(async () => expect(await credential(addon.id)).toMatchObject({ state: "quarantined" }));
    life.control.clearFaults();
    await life.control.redeliver(addon.id, { newCode: true });
    await eventually(async () => expect(await life.credential(addon.id)).toMatchObject({ state: "active" }));
  });

  it("exchanges a new code that arrives while the old grant is being given up, without waiting for a lease", async () => {
    life.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } }, 1_000);
    const { addon } = await life.control.install({ plan: "basic" });
    await eventually(async () => expect((await credential(addon.id))!.attempts).toBeGreaterThan(0));
    before.set("settle_credential", async () => {
      life.control.clearFaults();
      await life.control.redeliver(addon.id, { newCode: true });
    });
    await life.world.rows(
      `UPDATE credentials SET grant_deadline = now() - interval '1 second', due_at = now() - interval '1 second' WHERE uuid = $1`,
      [addon.id],
    );
    await eventually(
      async () => expect(await life.credential(addon.id)).toMatchObject({ state: "active" }),
      20_000,
    );
  });
});

it("a fresh token pair is not quarantined because the previous one could not be decrypted", async () => {
  const uuid = await life.settled();
  const flip = "set_byte(sealed_access_token, 60, get_byte(sealed_access_token, 60) # 1)";
  await life.world.rows(`UPDATE credentials SET sealed_access_token = ${flip} WHERE uuid = $1`, [uuid]);
  before.set("settle_credential", () => refreshNow(life.world.service.services, uuid));
  expect(await life.world.service.services.platformFor(uuid).addons.own()).toMatchObject({ id: uuid });
  expect(await life.credential(uuid)).toMatchObject({ state: "active", generation: 2 });
});

it("a refresh that was refused while the database was away is recorded, and its lease is released", async () => {
  const uuid = await life.settled();
  life.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
  before.set("settle_credential", away);
  expect(await refreshNow(life.world.service.services, uuid)).toMatchObject({ done: "failed" });
  const [row] = await life.world.rows(
    `SELECT state, attempts, rejected_at IS NOT NULL AS refused, leased_until IS NOT NULL AS held
     FROM credentials WHERE uuid = $1`,
    [uuid],
  );
  expect(row).toEqual({ state: "active", attempts: 1, refused: true, held: false });
});
