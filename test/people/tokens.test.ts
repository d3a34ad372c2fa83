import { randomBytes } from "node:crypto";
import { positional } from "../../src/database/statement.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { Secret } from "../../src/secret.ts";
import { createVault, credentialSealContext } from "../../src/vault/vault.ts";
import { interleavings } from "../support/interleavings.ts";
import { kitJson } from "../support/kit.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { opened } from "../support/world.ts";
import type { Browser } from "./browser.ts";
import { aWorldOfPeople } from "./people.ts";

// A person's tokens stand beside those of resources and are refreshed by the same code (test/credentials). Here is what
// differs: a refusal ends the sign-in, and signing out or in again meets a refresh under way.

let browser: Browser;
const { moments, parts } = interleavings();
const people = opened(() => aWorldOfPeople({ environment: { WEB_JOBS: "off" }, parts }));
beforeEach(async () => {
  await people.forgetEverybody();
  browser = people.browser();
  await people.signIn(browser);
  // Counts begin at random.
  await people.world.forged.pairsAreTheFirst();
});
afterEach(() => {
  people.control.clearFaults();
  people.control.settings({ plain401: "never" });
});

const person = async () => (await people.people())[0]!;
const meetDue = async () => {
  await people.world.forged.tokenLeaseIsGivenBack();
  await people.world.forged.tokensFellDue();
  await people.job("refresh-tokens");
};
const page = async () => (await browser.get("/oauth/me")).status;

async function accessToken() {
  const vault = await createVault(teapotConfig(people.world.environment));
  const { uuid, sealed_access_token: sealed } = await person();
  return vault.open(credentialSealContext("sealed_access_token", uuid, "person"), sealed!).reveal();
}

/** Refreshes, and does something between the platform's answer and its storing. */
async function refreshWhile(meanwhile: () => Promise<unknown>): Promise<void> {
  moments.set("answered refresh", meanwhile);
  await meetDue();
  expect(moments.size).toBe(0);
}

describe("refresh of a person's tokens", () => {
  it.each([
    ["same", false],
    ["new", true],
  ] as const)(
    "with the %s refresh token does not change the pair of who signed in again (out before: %s)",
    async (which, isOut) => {
      people.control.settings({ refreshToken: which });
      let fresh = "";
      await refreshWhile(async () => {
        if (isOut) await browser.post("/oauth/logout");
        await people.signIn(browser);
        fresh = await accessToken();
      });
      people.control.settings({ refreshToken: "same" });
      expect(await accessToken()).toBe(fresh);
      expect(await page()).toBe(200);
    },
  );

  it("that brought another refresh token is stored although another process was refused with the old one", async () => {
    people.control.settings({ refreshToken: "new" });
    await refreshWhile(() => people.world.forged.pairsAreRefusedElsewhere());
    people.control.settings({ refreshToken: "same" });
    expect(await person()).toMatchObject({ state: "signed_in", reason: null, generation: 2 });
    expect(await page()).toBe(200);
  });

  it("of a person who signed out meanwhile restores nothing", async () => {
    await refreshWhile(() => browser.post("/oauth/logout"));
    expect([await people.sessions(), await page()]).toEqual([[], 401]);
    await people.world.forged.peopleSignedIn(3_600);
    await people.job("prune-sessions");
    expect(await people.people()).toEqual([]);
  });

  it("that the platform refuses ends the sign-in", async () => {
    people.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    await meetDue();
    expect(await page()).toBe(401);
    expect(await person()).toMatchObject({
      ...{ state: "needs_sign_in", sealed_access_token: null, sealed_refresh_token: null },
    });
    await people.signIn(browser);
    expect(await page()).toBe(200);
  });

  it("goes on while the add-on's own client secret is rejected", async () => {
    await people.world.forged.secretIsRejected(3_600);
    await people.world.restart();
    await meetDue();
    expect(await person()).toMatchObject({ state: "signed_in", generation: 2 });
    await people.world.forged.secretIsAccepted();
    await people.world.restart();
  });

  it.each([
    ["in words, which raises the alarm", "never", 1],
    ["by a 401 that gives no reason", "always", 0],
  ] as const)(
    "with a client rejected %s signs nobody out, and is tried again",
    async (_how, plain401, raised) => {
      const alarms = () => people.world.logged().split(`"alarm":"oauth_client_rejected"`).length - 1;
      const before = alarms();
      await people.world.restart({ environment: { OAUTH_CLIENT_SECRET: "another-than-the-platform-knows" } });
      people.control.settings({ plain401 });
      await meetDue();
      expect(await page()).toBe(200);
      expect(alarms()).toBe(before + raised);
      expect(await person()).toMatchObject({ state: "signed_in", rejected_at: null, generation: 1 });
      await people.world.restart();
      await meetDue();
      expect((await person()).generation).toBe(2);
    },
  );
});

it("the keys of people's tokens and sessions can be changed while they are signed in", async () => {
  const before = await accessToken();
  const { ENCRYPTION_KEY: oldKey } = people.world.environment;
  const newKey = randomBytes(24).toString("hex");
  const both = { ENCRYPTION_KEY: newKey, DECRYPTION_KEYS: oldKey! };
  await people.world.restart({ environment: both });
  expect(await page()).toBe(200);
  const { data } = await kitJson({ ...people.world.environment, ...both }, ["keys", "reseal"]);
  // The person and the partner's client secret.
  expect(data["byKey"]).toMatchObject([{ rows: 2 }]);
  Object.assign(people.world.environment, { ENCRYPTION_KEY: newKey });
  expect(await accessToken()).toBe(before);
  await people.world.restart({ environment: { ENCRYPTION_KEY: newKey } });
  // A session is stored as a hash with the key of its start, so it ends with that key; its tokens do not.
  expect(await page()).toBe(401);
  await meetDue();
  expect(await person()).toMatchObject({ state: "signed_in", generation: 2 });
});

it("keys that only people's tokens need are required at start", async () => {
  await people.world.forged.noSecretIsStored();
  await people.world.service.stop();
  const environment = { ...people.world.environment, ENCRYPTION_KEY: randomBytes(24).toString("hex") };
  const logTo = { write: () => undefined };
  const service = await runWeb(teapotConfig(environment), { ...teapotParts, logTo });
  await expect(service.ready).rejects.toThrow(/needs keys that are not among .*: 1 row\n/s);
  await service.stop();
  await people.world.restart();
});

it("keys that are missing later put a pair aside, without a call, until they are available again", async () => {
  const stranger = await createVault({ encryptionKey: new Secret("s".repeat(40)) });
  const sealed = stranger.seal(
    credentialSealContext("sealed_refresh_token", (await person()).uuid, "person"),
    "a-token",
  );
  await people.world.forged.refreshTokenIs((await person()).uuid, sealed);
  const since = people.control.ledger().next;
  await meetDue();
  expect(await person()).toMatchObject({ state: "quarantined", reason: "key_missing" });
  expect([people.control.ledger({ since }).entries, await page()]).toEqual([[], 200]);
  expect(people.world.logged()).toMatch(/"alarm":"quarantined"/);
  await people.world.restart({ environment: { DECRYPTION_KEYS: "s".repeat(40) } });
  await people.job("reopen-quarantined");
  expect((await person()).state).toBe("signed_in");
  await people.world.restart();
});

it("the pair of a person who signs in at a process of the release before is moved, and works", async () => {
  const signIn = positional(
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
  await people.world.rows(`DELETE FROM credentials WHERE owner = 'person'`);
  await people.world.db.query(signIn, [uuid, access, refresh]);
  expect(await person()).toMatchObject(moved);
  expect(await page()).toBe(200);
  await meetDue();
  expect(await person()).toMatchObject({ state: "signed_in", last_error: null, generation: 2 });
});
