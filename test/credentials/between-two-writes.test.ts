import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import type { NotIssued, TokenEndpoint } from "../../src/platform/oauth.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";

// Events between a call's answer and its database write: another code, and a database that is away.

let life: LifecycleWorld;
/** Work that runs before the next statement of this name. If it throws, the statement is not executed. */
const before = new Map<string, () => Promise<unknown>>();
/** The result of the next exchange, whatever the platform answers. */
let exchanged: (() => Promise<NotIssued>) | null = null;

beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(statement, values) {
      const work = before.get(statement.name);
      before.delete(statement.name);
      await work?.();
      return database.query(statement, values);
    },
  });
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    exchange(...given) {
      const instead = exchanged;
      exchanged = null;
      return instead ? instead() : endpoint.exchange(...given);
    },
  });
  life = await aLifecycle({ parts: { wrapDatabase, wrapTokenEndpoint } });
});
afterAll(() => life.world.close());
afterEach(() => {
  expect([...before.keys()]).toEqual([]);
  life.control.clearFaults();
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
