import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { storeTokens } from "../../src/credentials/store.ts";
import { openContext } from "../../src/open-context.ts";
import { Secret } from "../../src/secret.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually } from "../support/world.ts";
import { tokensOf } from "../../src/credentials/token-source.ts";
import { refreshNow as refresh } from "../../src/credentials/sweeps.ts";
import { credentialSealContext } from "../../src/vault/contexts.ts";

// Tokens that cannot be obtained a second time: those of a grant, and a refresh token that replaces another.

let life: LifecycleWorld;
/** The error of storing tokens, while it is set. */
let hindrance: object | null = null;
let hindered = 0;
/** Whether the platform leaves out the refresh token of a grant. */
let withoutRefresh = false;
/** What happens between the platform's answer to a refresh and its storing. */
let meanwhile: (() => Promise<unknown>) | null = null;

beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query(statement, values) {
      if (!hindrance || statement.name !== "store_tokens") return database.query(statement, values);
      hindered += 1;
      return Promise.reject(Object.assign(new Error("hindered"), hindrance));
    },
  });
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    async exchange(...given) {
      const answer = await endpoint.exchange(...given);
      if (answer.outcome !== "issued" || !withoutRefresh) return answer;
      return { ...answer, tokens: { ...answer.tokens, refreshToken: null } };
    },
    async refresh(...given) {
      const answer = await endpoint.refresh(...given);
      const work = meanwhile;
      meanwhile = null;
      await work?.();
      return answer;
    },
  });
  life = await aLifecycle({ parts: { wrapDatabase, wrapTokenEndpoint } });
});
afterAll(() => life.world.close());
afterEach(() => {
  hindrance = null;
  hindered = 0;
  withoutRefresh = false;
  life.control.settings({ refreshToken: "same" });
});

const refreshNow = (uuid: string) => refresh(life.world.service.services, uuid);
/** No sweep runs before the caller that asks for this row. */
const leaseEnds = (uuid: string) =>
  life.world.rows(
    `UPDATE credentials SET leased_until = now(), due_at = now() + interval '1 hour' WHERE uuid = $1`,
    [uuid],
  );
/** The stored pair is the platform's latest, and its refresh token works. */
async function expectAlive(uuid: string): Promise<void> {
  expect((await life.world.service.services.platformFor(uuid).addons.own()).id).toBe(uuid);
  expect(await refreshNow(uuid)).toMatchObject({ done: "stored" });
}

describe("tokens of a grant", () => {
  it.each([
    ["a disk that cannot be read", { severity: "ERROR", code: "58030" }],
    ["nobody knows what", {}],
  ])(
    "are kept in memory with an alarm until they can be stored, after any database error: %s",
    async (_, error) => {
      hindrance = error;
      const { addon } = await life.control.install({ plan: "basic" });
      await eventually(() => expect(hindered).toBeGreaterThan(2));
      hindrance = null;
      await eventually(async () =>
        expect(await life.credential(addon.id)).toMatchObject({ state: "active" }),
      );
      expect(life.exchangesOf(life.requestFor(addon.id).oauth_grant.code)).toHaveLength(1);
      await expectAlive(addon.id);
      const told = `"uuid":"${addon.id}","requestId":"[^"]+","error":{[^\n]*"msg":"Tokens cannot be stored; they are held`;
      expect(life.world.logged().match(new RegExp(told, "g"))).toHaveLength(1);
    },
  );
});

it("a grant without a refresh token raises an alarm, and its access token is kept", async () => {
  withoutRefresh = true;
  const { addon } = await life.control.install({ plan: "basic" });
  await eventually(async () => expect(await life.credential(addon.id)).toMatchObject({ state: "active" }));
  const alarms = life.world
    .logged()
    .split("\n")
    .filter((line) => line.includes(`"alarm":"no_refresh_token","uuid":"${addon.id}"`));
  expect(alarms).toHaveLength(1);
  expect((await life.world.service.services.platformFor(addon.id).addons.own()).id).toBe(addon.id);
});

describe("a refresh token that replaces the stored one", () => {
  it("is stored although the lease was lost and another process was refused with the old one", async () => {
    const uuid = await life.settled();
    life.control.settings({ refreshToken: "new" });
    const other = await openContext(teapotConfig(life.world.environment), {
      ...teapotParts,
      logTo: { write: () => undefined },
    });
    meanwhile = async () => {
      await leaseEnds(uuid);
      expect(await refresh(other, uuid)).toMatchObject({
        done: "failed",
        failure: { outcome: "token_rejected" },
      });
      await other.close();
    };
    expect(await refreshNow(uuid)).toMatchObject({ done: "stored" });
    await expectAlive(uuid);
  });

  it("is not stored if a newer pair was stored in between", async () => {
    const uuid = await life.settled();
    life.control.settings({ refreshToken: "new" });
    meanwhile = async () => {
      await life.world.rows(
        `UPDATE credentials SET generation = generation + 1, lease = lease + 1 WHERE uuid = $1`,
        [uuid],
      );
    };
    expect(await refreshNow(uuid)).toMatchObject({ done: "not_ours" });
  });

  it("is stored although a process without the key has quarantined the row", async () => {
    const uuid = await life.settled();
    life.control.settings({ refreshToken: "new" });
    meanwhile = () =>
      life.world.rows(
        `UPDATE credentials SET state = 'quarantined', reason = 'key_missing', due_at = NULL, leased_until = NULL WHERE uuid = $1`,
        [uuid],
      );
    expect(await refreshNow(uuid)).toMatchObject({ done: "stored" });
    await expectAlive(uuid);
  });

  it("wins over an older answer that arrives at the same moment", async () => {
    const uuid = await life.settled();
    const { db, vault } = life.world.service.services;
    const [row] = await life.world.rows<{ lease: number; generation: number }>(
      `UPDATE credentials SET lease = lease + 2, leased_until = now() + interval '45 seconds' WHERE uuid = $1 RETURNING lease, generation`,
      [uuid],
    );
    const pair = (lease: number, token: string) => ({
      ...{ uuid, lease, first: false, replaces: row!.generation, lifeSeconds: 28_800, share: 0.5 },
      access: vault.seal(credentialSealContext("sealed_access_token", uuid), new Secret(`SVCK-${token}`)),
      refresh: vault.seal(credentialSealContext("sealed_refresh_token", uuid), new Secret(token)),
      ...{ secretVersion: 1, flags: "" },
    });
    const late = storeTokens(db, pair(row!.lease - 1, "late"));
    const ours = storeTokens(db, pair(row!.lease, "ours"));
    expect(await Promise.all([late, ours])).toEqual([false, true]);
    const [stored] = await life.world.rows<{ sealed: Buffer }>(
      `SELECT sealed_refresh_token AS sealed FROM credentials WHERE uuid = $1`,
      [uuid],
    );
    expect(vault.open(credentialSealContext("sealed_refresh_token", uuid), stored!.sealed).reveal()).toBe(
      "ours",
    );
  });
});

it("a refresh that returns the same access token is not repeated endlessly", async () => {
  const uuid = await life.settled();
  const tokens = tokensOf(life.world.service.services, uuid);
  const stored = await tokens.current();
  const since = life.position();
  // As a platform does that extends a token's life instead of replacing it.
  await life.world.rows(
    `CREATE FUNCTION keep_token() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN NEW.sealed_access_token = OLD.sealed_access_token; RETURN NEW; END $$`,
  );
  await life.world.rows(
    `CREATE TRIGGER keep BEFORE UPDATE ON credentials FOR EACH ROW EXECUTE FUNCTION keep_token()`,
  );
  try {
    expect((await tokens.renew(stored)).reveal()).toBe(stored.reveal());
    expect(life.entries(since).filter(({ path }) => path === "/oauth/token")).toHaveLength(1);
  } finally {
    await life.world.rows(`DROP TRIGGER keep ON credentials`);
  }
});
