import { randomBytes } from "node:crypto";
import { runWeb } from "../../src/process/run-web.ts";
import { statement } from "../../src/database/database.ts";
import { Secret } from "../../src/secret.ts";
import { credentialSealContext } from "../../src/vault/contexts.ts";
import { createVault } from "../../src/vault/vault.ts";
import { kitJson } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";
import type { Browser } from "./browser.ts";
import { aWorldOfPeople } from "./people.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";

// A person's tokens stand beside those of resources and are refreshed by the same code (test/credentials). Here is what
// differs: a refusal ends the sign-in, and signing out or in again meets a refresh under way.

let browser: Browser;
const people = opened(() => aWorldOfPeople({ environment: { WEB_JOBS: "off" } }));
beforeEach(async () => {
  await people.forgetEverybody();
  browser = people.browser();
  await people.signIn(browser);
  // Counts begin at random.
  await people.world.rows(`UPDATE credentials SET generation = 1, lease = 0`);
});
afterEach(() => people.control.clearFaults());

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

async function decrypted() {
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
  it("happens by itself when it is due, with the secret in the body", async () => {
    const before = await decrypted();
    await makeDue();
    const since = position();
    await people.job("refresh-tokens");
    const [call] = refreshes(since);
    expect(Object.keys(call!.request.body as object).sort()).toEqual([
      "client_secret",
      "grant_type",
      "refresh_token",
    ]);
    const after = await decrypted();
    expect(after.access).not.toBe(before.access);
    expect(await person()).toMatchObject({ state: "signed_in", generation: 2, last_error: null });
    expect(await page()).toEqual(SIGNED_IN);
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

  it("with the same dead access token in the answer ends the sign-in", async () => {
    const { access } = await decrypted();
    const same = { access_token: access, token_type: "Bearer", expires_in: 28_800 };
    const since = position();
    people.control.fault("POST /oauth/token", { status: 200, body: same }, 5);
    people.control.fault("GET /account", { status: 401, body: { id: "unauthorized" } }, 2);
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    expect(refreshes(since)).toHaveLength(1);
    expect(await person()).toMatchObject({ state: "needs_sign_in", reason: "access_token_rejected" });
  });

  /** Refreshes, and runs something between the platform's answer and its storing. */
  async function refreshWhile(meanwhile: () => Promise<unknown>): Promise<void> {
    await makeDue();
    people.control.fault("POST /oauth/token", { delayMs: 2_000 });
    people.world.service.services.jobs.wake("refresh-tokens");
    await eventually(async () => (await person()).lease === 1);
    await meanwhile();
    await people.job("refresh-tokens");
  }
  const endTheSignIn = (reason: string) => () =>
    people.world.rows(
      `UPDATE credentials SET lease = lease + 1, state = 'needs_sign_in', reason = $1, due_at = NULL,
         leased_until = NULL, sealed_access_token = NULL, sealed_refresh_token = NULL`,
      [reason],
    );

  it("that brought another refresh token is stored although another process was refused with the old one", async () => {
    people.control.settings({ refreshToken: "new" });
    await refreshWhile(endTheSignIn("refresh_token_rejected"));
    people.control.settings({ refreshToken: "same" });
    expect(await person()).toMatchObject({ state: "signed_in", reason: null, generation: 2 });
    expect(await page()).toEqual(SIGNED_IN);
    await makeDue();
    await people.job("refresh-tokens");
    expect(await person()).toMatchObject({ state: "signed_in", generation: 3 });
  });

  it("is not stored if the platform refuses the person even with a fresh token", async () => {
    await refreshWhile(endTheSignIn("access_token_rejected"));
    expect(await person()).toMatchObject({ state: "needs_sign_in", sealed_access_token: null });
  });

  it("of a person who signed out meanwhile restores nothing", async () => {
    await refreshWhile(() => browser.post("/oauth/logout"));
    expect(await people.people()).toEqual([]);
  });

  it.each([
    ["new", "in again", false],
    ["new", "out and in again", true],
    ["same", "out and in again", true],
  ] as const)(
    "with the %s refresh token does not change the pair of who signed %s",
    async (which, _how, isOut) => {
      people.control.settings({ refreshToken: which });
      let fresh: object = {};
      await refreshWhile(async () => {
        if (isOut) await browser.post("/oauth/logout");
        await people.signIn(browser);
        fresh = await decrypted();
      });
      people.control.settings({ refreshToken: "same" });
      expect(await decrypted()).toEqual(fresh);
      expect(await page()).toEqual(SIGNED_IN);
    },
  );

  it.each([
    ["when it is due", async () => { await makeDue(); await people.job("refresh-tokens"); }],
    ["on use", expire],
  ])("that the platform refuses for good ends the sign-in, and says so: %s", async (_when, meet) => {
    people.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    await meet();
    expect(await page()).toEqual(SIGN_IN_AGAIN);
    expect(await person()).toMatchObject({
      ...{ state: "needs_sign_in", sealed_access_token: null, sealed_refresh_token: null },
    });
    await people.signIn(browser);
    expect(await page()).toEqual(SIGNED_IN);
  }); // prettier-ignore

  it("whose fresh token is refused too ends the sign-in for every page and process", async () => {
    // Another person: of the first, two tokens were refused within five minutes, which is the most that are replaced.
    await people.signIn(browser, { user: "colleague@example.com" });
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
    const before = await decrypted();
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

it("the pair of a person who signs in at a process of the release before is moved, and works", async () => {
  const signIn = statement(
    "old_sign_in",
    `INSERT INTO people (uuid, email, scopes, sealed_access_token, sealed_refresh_token, expires_at, due_at)
     VALUES ($1, 'x@example.com', '{identity}', $2, $3, now() + interval '8 hours', now() + interval '4 hours')
     ON CONFLICT (uuid) DO UPDATE SET sealed_access_token = excluded.sealed_access_token,
       sealed_refresh_token = excluded.sealed_refresh_token, expires_at = excluded.expires_at, due_at = excluded.due_at`,
  );
  const { uuid, generation, sealed_access_token: access, sealed_refresh_token: refresh } = await person();
  const moved = { state: "signed_in", sealed_access_token: access, sealed_refresh_token: refresh };
  await people.world.db.query(signIn, [uuid, access, refresh]);
  expect(await person()).toMatchObject({ ...moved, generation: generation + 1 });
  expect(
    await people.world.rows(
      `SELECT 1 FROM people WHERE num_nonnulls(sealed_access_token, sealed_refresh_token, due_at) > 0`,
    ),
  ).toEqual([]);
  await people.world.rows(`DELETE FROM credentials WHERE owner = 'person'`);
  await people.world.db.query(signIn, [uuid, access, refresh]);
  expect(await person()).toMatchObject(moved);
  expect((await browser.get("/oauth/me")).text).toContain("You are signed in");
  await people.world.rows(`UPDATE credentials SET due_at = now()`);
  await people.job("refresh-tokens");
  expect(await person()).toMatchObject({ state: "signed_in", last_error: null, generation: 2 });
});
