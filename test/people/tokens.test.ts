import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { runWeb } from "../../src/process/run-web.ts";
import { openContext } from "../../src/open-context.ts";
import { Secret } from "../../src/secret.ts";
import { credentialSealContext } from "../../src/credentials/sealed.ts";
import { tokensOf } from "../../src/credentials/token-source.ts";
import { createVault } from "../../src/vault/vault.ts";
import { kitJson } from "../support/kit.ts";
import { eventually } from "../support/world.ts";
import type { Browser } from "./browser.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";

// A person's tokens: encrypted, refreshed before they expire, and by one process at a time.

let people: PeopleWorld;
let browser: Browser;
beforeAll(async () => void (people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } })));
beforeEach(async () => {
  await people.forgetEverybody();
  browser = people.browser();
  await people.signIn(browser);
  // Counts begin at random.
  await people.world.rows(`UPDATE credentials SET generation = 1, lease = 0`);
});
afterEach(() => people.control.clearFaults());
afterAll(() => people.close());

const makeDue = () => people.world.rows(`UPDATE credentials SET due_at = now(), leased_until = NULL`);
const expire = () => people.world.rows(`UPDATE credentials SET expires_at = now() - interval '1 second'`);
const person = async () => (await people.people())[0]!;
const refreshes = (since: number) =>
  people.control
    .ledger({ since, reveal: true })
    .entries.filter(
      ({ request }) => (request.body as { grant_type?: string } | null)?.grant_type === "refresh_token",
    );
const position = () => people.control.ledger().next;
const page = async () => {
  const { status, text } = await browser.get("/oauth/me");
  return { status, title: /<h1>(.*?)<\/h1>/.exec(text)![1] };
};
const SIGNED_IN = { status: 200, title: "You are signed in" };
const SIGN_IN_AGAIN = { status: 401, title: "Please sign in again" };

async function opened() {
  const vault = await createVault(teapotConfig(people.world.environment));
  const row = await person();
  return {
    access: vault
      .open(credentialSealContext("sealed_access_token", row.uuid, "person"), row.sealed_access_token!)
      .reveal(),
    refresh: vault
      .open(credentialSealContext("sealed_refresh_token", row.uuid, "person"), row.sealed_refresh_token!)
      .reveal(),
  };
}

describe("refresh of a person's tokens", () => {
  it("falls due at half of their life", async () => {
    const [row] = await people.world.rows<{ due: number; life: number }>(
      `SELECT extract(epoch FROM due_at - now())::int AS due, extract(epoch FROM expires_at - now())::int AS life FROM credentials`,
    );
    expect(row!.life / 3600).toBeCloseTo(8, 1);
    expect(Math.abs(row!.due / 3600 - 4)).toBeLessThan(0.5);
  });

  it("happens by itself when it is due, with the secret in the body", async () => {
    const before = await opened();
    await makeDue();
    const since = position();
    await people.job("refresh-tokens");
    const [call] = refreshes(since);
    expect(Object.keys(call!.request.body as object).sort()).toEqual([
      "client_secret",
      "grant_type",
      "refresh_token",
    ]);
    const after = await opened();
    expect(after.access).not.toBe(before.access);
    expect(await person()).toMatchObject({ state: "signed_in", generation: 2, last_error: null });
    expect(await page()).toEqual(SIGNED_IN);
  });

  it("does not happen before it is due", async () => {
    const since = position();
    await people.job("refresh-tokens");
    expect(refreshes(since)).toEqual([]);
  });

  it("happens within seconds when the tokens live for seconds", async () => {
    people.control.settings({ expiresIn: 2 });
    await people.signIn(browser);
    people.control.settings({ expiresIn: 28_800 });
    const { generation } = await person();
    await eventually(async () => expect((await person()).generation).toBeGreaterThan(generation));
  });

  it("happens on use when the token has expired or was ended by the platform", async () => {
    await expire();
    expect(await page()).toEqual(SIGNED_IN);
    expect((await person()).generation).toBe(2);
    people.control.fault("GET /account", { status: 401, body: { id: "unauthorized" } });
    expect(await page()).toEqual(SIGNED_IN);
    expect((await person()).generation).toBe(3);
  });

  it("with the same access token in the answer is one call, and the token is used", async () => {
    const { access } = await opened();
    await expire();
    const since = position();
    const same = { access_token: access, token_type: "Bearer", expires_in: 28_800 };
    people.control.fault("POST /oauth/token", { status: 200, body: same });
    expect(await page()).toEqual(SIGNED_IN);
    expect(refreshes(since)).toHaveLength(1);
    expect((await opened()).access).toBe(access);
  });

  it("with the same dead access token in the answer ends the sign-in", async () => {
    const { access } = await opened();
    const same = { access_token: access, token_type: "Bearer", expires_in: 28_800 };
    const since = position();
    people.control.fault("POST /oauth/token", { status: 200, body: same }, 5);
    people.control.fault("GET /account", { status: 401, body: { id: "unauthorized" } }, 2);
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    expect(refreshes(since)).toHaveLength(1);
    expect(await person()).toMatchObject({ state: "needs_sign_in", reason: "access_token_rejected" });
  });

  it("sent for a caller that has left is stored before the process stops", async () => {
    await expire();
    people.control.fault("POST /oauth/token", { delayMs: 1_500 });
    const gone = new AbortController();
    const cookie = `kit_session=${browser.cookies.get("kit_session")!.value}`;
    const asked = fetch(`${people.url()}/oauth/me`, { headers: { cookie }, signal: gone.signal });
    await eventually(async () => (await person()).lease === 1);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await people.world.restart();
    expect(await person()).toMatchObject({ state: "signed_in", generation: 2 });
  });

  it("stores a changed refresh token, and keeps the old one if none comes", async () => {
    const before = await opened();
    people.control.settings({ refreshToken: "new" });
    await makeDue();
    await people.job("refresh-tokens");
    const changed = await opened();
    expect(changed.refresh).not.toBe(before.refresh);
    people.control.settings({ refreshToken: "none" });
    await makeDue();
    await people.job("refresh-tokens");
    expect((await opened()).refresh).toBe(changed.refresh);
    people.control.settings({ refreshToken: "same" });
  });

  describe("that brought another refresh token", () => {
    let before: Buffer | null = null;
    /** Refreshes, and runs something between the platform's answer and its storing. */
    async function refreshWhile(meanwhile: () => Promise<unknown>) {
      before = (await person()).sealed_access_token;
      await makeDue();
      people.control.fault("POST /oauth/token", { delayMs: 3_000 });
      people.world.service.services.jobs.wake("refresh-tokens");
      await eventually(async () => (await person()).lease === 1);
      await meanwhile();
      await people.job("refresh-tokens");
    }
    /** The stored pair is the platform's latest, and its refresh token works. */
    async function expectAlive(): Promise<void> {
      expect(await person()).toMatchObject({ state: "signed_in", reason: null, generation: 2 });
      expect(await page()).toEqual(SIGNED_IN);
      await makeDue();
      await people.job("refresh-tokens");
      expect(await person()).toMatchObject({ state: "signed_in", generation: 3 });
    }
    const set = (members: string) => () => people.world.rows(`UPDATE credentials SET ${members}`);
    beforeEach(() => void people.control.settings({ refreshToken: "new" }));
    afterEach(() => void people.control.settings({ refreshToken: "same" }));

    it.each([
      ["its lease was lost", set(`lease = lease + 1`)],
      [
        "another process was refused with the old one",
        set(
          `lease = lease + 1, state = 'needs_sign_in', reason = 'refresh_token_rejected', due_at = NULL,
             leased_until = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL`,
        ),
      ],
      [
        "who lacks a key put the row aside",
        set(`state = 'quarantined', reason = 'key_missing', due_at = NULL, leased_until = NULL`),
      ],
    ])("is stored although %s", async (_, meanwhile) => {
      await refreshWhile(meanwhile);
      await expectAlive();
    });

    it.each([
      ["a newer pair came between", set(`lease = lease + 1, generation = generation + 1`)],
      [
        "the platform refuses the person even with a fresh token",
        set(
          `lease = lease + 1, state = 'needs_sign_in', reason = 'access_token_rejected', due_at = NULL,
             leased_until = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL`,
        ),
      ],
    ])("is not stored if %s", async (_, meanwhile) => {
      await refreshWhile(meanwhile);
      const { sealed_access_token: sealed } = await person();
      expect([null, before]).toContainEqual(sealed);
    });

    it("is kept in memory until it can be stored, whatever the error", async () => {
      await people.world.rows(
        `CREATE FUNCTION refuse_tokens() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE insufficient_privilege; END $$`,
      );
      await people.world.rows(
        `CREATE TRIGGER refuse_tokens BEFORE UPDATE OF generation ON credentials EXECUTE FUNCTION refuse_tokens()`,
      );
      const told = () => people.world.logged().split("Tokens cannot be stored").length - 1;
      try {
        await makeDue();
        people.world.service.services.jobs.wake("refresh-tokens");
        await eventually(() => expect(told()).toBe(1));
      } finally {
        await people.world.rows(`DROP FUNCTION refuse_tokens CASCADE`);
      }
      await eventually(async () => expect((await person()).generation).toBe(2));
      await expectAlive();
      expect(told()).toBe(1);
    });
  });

  it("without another refresh token is not stored after its lease was lost", async () => {
    const before = await opened();
    await makeDue();
    people.control.fault("POST /oauth/token", { delayMs: 1_000 });
    people.world.service.services.jobs.wake("refresh-tokens");
    await eventually(async () => (await person()).lease === 1);
    await people.world.rows(`UPDATE credentials SET lease = lease + 1`);
    await people.job("refresh-tokens");
    expect(await opened()).toEqual(before);
  });

  it("happens once, however many processes find it due or use the token", async () => {
    const other = await openContext(teapotConfig(people.world.environment), {
      ...teapotParts,
      logTo: { write: () => undefined },
    });
    try {
      await expire();
      await makeDue();
      const since = position();
      people.control.fault("POST /oauth/token", { delayMs: 500 });
      const { uuid } = await person();
      const signal = new AbortController().signal;
      await Promise.all([
        other.refreshes.fill(signal),
        people.world.service.services.refreshes.fill(signal),
        tokensOf(other, uuid).current(),
        page(),
      ]);
      expect(refreshes(since)).toHaveLength(1);
      expect((await person()).generation).toBe(2);
    } finally {
      await other.close();
    }
  });

  it.each([{ status: 500 }, { status: 429 }, { reset: "before" as const }, { status: 400, body: "oh" }])(
    "that fails temporarily changes nothing and is retried (%#)",
    async (fault) => {
      await makeDue();
      people.control.fault("POST /oauth/token", fault);
      await people.job("refresh-tokens");
      expect(await person()).toMatchObject({ state: "signed_in", attempts: 1, generation: 1 });
      expect((await person()).last_error).not.toBeNull();
      const [{ wait }] = (await people.world.rows<{ wait: number }>(
        `SELECT extract(epoch FROM due_at - now())::float8 AS wait FROM credentials`,
      )) as [{ wait: number }];
      expect(wait).toBeGreaterThan(0);
      expect(await page()).toEqual(SIGNED_IN);
      await makeDue();
      await people.job("refresh-tokens");
      expect(await person()).toMatchObject({ attempts: 0, generation: 2, last_error: null });
    },
  );

  it("that the platform refuses for good ends the sign-in, and says so", async () => {
    await makeDue();
    people.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    await people.job("refresh-tokens");
    expect(await person()).toMatchObject({
      ...{ state: "needs_sign_in", sealed_access_token: null, sealed_refresh_token: null },
    });
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    await people.signIn(browser);
    expect(await page()).toEqual(SIGNED_IN);
    expect(await person()).toMatchObject({ state: "signed_in" });
  });

  it("that the platform refuses on use is reported at once", async () => {
    await expire();
    people.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    expect(await page()).toEqual(SIGN_IN_AGAIN);
  });

  it("whose fresh token is refused too ends the sign-in for every page and process", async () => {
    const since = position();
    for (let times = 1; times <= 2; times++)
      people.control.fault("GET /account", { status: 401, body: { id: "unauthorized" } });
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    expect(refreshes(since)).toHaveLength(1);
    expect(await person()).toMatchObject({
      ...{ state: "needs_sign_in", reason: "access_token_rejected" },
      ...{ sealed_access_token: null, sealed_refresh_token: null },
    });
    await people.signIn(browser);
    expect(await page()).toEqual(SIGNED_IN);
  });

  it("without a refresh token is impossible: the sign-in ends with the access token", async () => {
    await people.world.rows(`UPDATE credentials SET sealed_refresh_token = NULL, due_at = NULL`);
    expect(await page()).toEqual(SIGNED_IN);
    await expire();
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    expect(await person()).toMatchObject({ state: "needs_sign_in", sealed_access_token: null });
  });

  it("with a rejected client changes no row, raises one alarm, and is limited", async () => {
    const alarms = () => people.world.logged().split(`"alarm":"oauth_client_rejected"`).length - 1;
    const before = alarms();
    await people.world.restart({
      environment: { OAUTH_CLIENT_SECRET: "another-secret-than-the-platform-knows" },
    });
    const since = position();
    for (let times = 1; times <= 3; times++) {
      await makeDue();
      await people.job("refresh-tokens");
    }
    await expire();
    for (let times = 1; times <= 3; times++) await page();
    expect(refreshes(since)).toHaveLength(1);
    expect(alarms()).toBe(before + 1);
    expect(await person()).toMatchObject({ state: "signed_in", attempts: 0, generation: 1 });
    await people.world.restart();
    await makeDue();
    await people.job("refresh-tokens");
    expect((await person()).generation).toBe(2);
  });

  it("of a person who signed in again meanwhile does not replace the newer tokens", async () => {
    await makeDue();
    people.control.fault("POST /oauth/token", { delayMs: 1_500 });
    people.world.service.services.jobs.wake("refresh-tokens");
    await eventually(async () => (await person()).lease === 1);
    await people.signIn(people.browser());
    const fresh = await opened();
    await people.job("refresh-tokens");
    expect(await opened()).toEqual(fresh);
  });

  it("of a person who signed out meanwhile restores nothing", async () => {
    await makeDue();
    people.control.fault("POST /oauth/token", { delayMs: 1_000 });
    people.world.service.services.jobs.wake("refresh-tokens");
    await eventually(async () => (await person()).lease === 1);
    await browser.post("/oauth/logout");
    await people.job("refresh-tokens");
    expect(await people.people()).toEqual([]);
  });
});

describe("encryption keys", () => {
  it("that are available again make no row due that cannot be refreshed", async () => {
    await people.world.rows(
      `UPDATE credentials SET state = 'quarantined', reason = 'key_missing', sealed_refresh_token = NULL, due_at = NULL`,
    );
    await people.job("reopen-quarantined");
    expect(await person()).toMatchObject({ state: "signed_in", due_at: null });
  });

  it("of people's tokens and sessions can be changed while they are signed in", async () => {
    const before = await opened();
    const oldKey = people.world.environment["ENCRYPTION_KEY"]!;
    const newKey = randomBytes(24).toString("hex");
    const both = { ENCRYPTION_KEY: newKey, DECRYPTION_KEYS: oldKey };
    await people.world.restart({ environment: both });
    expect(await page()).toEqual(SIGNED_IN);

    const { code, data } = await kitJson<{ byKey: { keyId: string; rows: number }[] }>(
      { ...people.world.environment, ...both },
      ["keys", "reseal"],
    );
    expect(code).toBe(0);
    const vault = await createVault({ encryptionKey: new Secret(newKey) });
    // The person and the partner's client secret.
    expect(data.byKey).toEqual([{ keyId: vault.keyId, rows: 2 }]);
    const row = await person();
    expect(
      vault
        .open(credentialSealContext("sealed_access_token", row.uuid, "person"), row.sealed_access_token!)
        .reveal(),
    ).toBe(before.access);
    Object.assign(people.world.environment, { ENCRYPTION_KEY: newKey });
    await people.world.restart({ environment: { ENCRYPTION_KEY: newKey } });
    // A session is stored as a hash with the key of its start, so it ends with that key; its tokens do not.
    expect((await page()).status).toBe(401);
    await makeDue();
    await people.job("refresh-tokens");
    expect(await person()).toMatchObject({ state: "signed_in", generation: 2 });
  });

  it("are required at start, also those that only people's tokens need", async () => {
    await people.world.rows(`DELETE FROM client_secrets`);
    await people.world.service.stop();
    const environment = { ...people.world.environment, ENCRYPTION_KEY: randomBytes(24).toString("hex") };
    const service = await runWeb(teapotConfig(environment), {
      ...teapotParts,
      logTo: { write: () => undefined },
    });
    await expect(service.ready).rejects.toThrow(/needs keys that are not among .*: 1 row\n/s);
    const { data } = await kitJson<{ checks: { id: string; message: string }[] }>(environment, ["doctor"]);
    expect(data.checks.find(({ id }) => id === "keys")!.message).toMatch(/not in the ring: \w+ \(1 row\)/);
    await service.stop();
    await people.world.restart();
  });

  it("that are missing later cause a quarantine until they are available again", async () => {
    const stranger = await createVault({ encryptionKey: new Secret("s".repeat(40)) });
    const { uuid } = await person();
    const sealed = (column: "sealed_access_token" | "sealed_refresh_token") =>
      stranger.seal(credentialSealContext(column, uuid, "person"), "a-token");
    await people.world.rows(`UPDATE credentials SET sealed_refresh_token = $1, due_at = now()`, [
      sealed("sealed_refresh_token"),
    ]);
    const since = position();
    await people.job("refresh-tokens");
    expect(await person()).toMatchObject({ state: "quarantined", reason: "key_missing" });
    expect(refreshes(since)).toEqual([]);
    expect(people.world.logged()).toMatch(/"alarm":"quarantined"/);
    // They are still signed in.
    expect(await page()).toEqual(SIGNED_IN);
    await people.job("reopen-quarantined");
    expect((await person()).state).toBe("quarantined");
    await people.world.restart({ environment: { DECRYPTION_KEYS: "s".repeat(40) } });
    await people.job("reopen-quarantined");
    expect((await person()).state).toBe("signed_in");
    await people.world.restart();
  });
});
