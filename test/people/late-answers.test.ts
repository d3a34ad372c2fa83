import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { Secret } from "../../src/secret.ts";
import { personSealContext } from "../../src/people/tokens/seal-context.ts";
import { createTokenStore, type ClaimedTokens, type TokenStore } from "../../src/people/tokens/store.ts";
import { eventually } from "../support/world.ts";
import type { Browser } from "./browser.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

// Answers to a refresh that arrive after the person has signed out and in again: their row is a new one by then,
// whose generation and lease start again.

let people: PeopleWorld;
let browser: Browser;
let store: TokenStore;
beforeAll(async () => {
  people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } });
  store = createTokenStore(people.world.db);
});
beforeEach(async () => {
  await people.forgetEverybody();
  browser = people.browser();
  await people.signIn(browser);
});
afterEach(() => {
  people.control.clearFaults();
  people.control.settings({ refreshToken: "same" });
});
afterAll(() => people.close());

const person = async () => (await people.people())[0]!;
/** The stored values of a person; encryption makes each different. */
async function tokens() {
  const { sealed_access_token: access, sealed_refresh_token: refresh, ...row } = await person();
  return { ...row, access: access?.toString("base64"), refresh: refresh?.toString("base64") };
}
async function signInAnew(): Promise<void> {
  await browser.post("/oauth/logout");
  expect(await people.people()).toEqual([]);
  await people.signIn(browser);
}
async function claimed(): Promise<ClaimedTokens> {
  const { uuid } = await person();
  return (await store.claimOne((await store.read(uuid))!))!;
}
/** A token pair as a refresh of this row returns it. */
function pairFor({ uuid, generation }: ClaimedTokens, isReplaced: boolean) {
  const { vault } = people.world.service.services;
  const sealed = (column: "sealed_access_token" | "sealed_refresh_token") =>
    vault.seal(personSealContext(column, uuid), new Secret("of-a-late-answer"));
  return {
    access: sealed("sealed_access_token"),
    refresh: isReplaced ? sealed("sealed_refresh_token") : null,
    ...{ replaces: isReplaced ? generation : null, lifeSeconds: 28_800 },
  };
}

describe("an answer for tokens of an earlier sign-in", () => {
  it.each(["new", "same"] as const)(
    "with the %s refresh token does not change the new ones",
    async (which) => {
      people.control.settings({ refreshToken: which });
      people.control.fault("POST /oauth/token", { delayMs: 5_000 });
      await people.world.rows(`UPDATE people SET due_at = now()`);
      people.world.service.services.jobs.wake("refresh-people");
      await eventually(async () => (await person()).lease === 1);
      await signInAnew();
      const fresh = await tokens();
      await people.job("refresh-people");
      expect(await tokens()).toEqual(fresh);
      expect((await browser.get("/oauth/me")).status).toBe(200);
    },
  );

  it("is not taken for the new ones, although lease and generation have equal numbers", async () => {
    const old = await claimed();
    await signInAnew();
    const own = await claimed();
    expect({ ...old, sealedRefreshToken: null, signedInAt: null }).toEqual({
      ...{ ...own, sealedRefreshToken: null, signedInAt: null },
    });
    const before = await tokens();
    expect(await store.store(old, pairFor(old, true))).toBe(false);
    expect(await store.store(old, pairFor(old, false))).toBe(false);
    expect(await store.refuse(old)).toBe(false);
    expect(await store.giveUp(old)).toBe(false);
    await store.putOff(old, 60, "late");
    await store.release(old, 60);
    expect(await tokens()).toEqual(before);
    await people.world.rows(`UPDATE people SET leased_until = NULL`);
    expect(await store.claimOne(old)).toBeNull();
  });

  it("does not restore tokens that the platform has refused since", async () => {
    const old = await claimed();
    await signInAnew();
    expect(await store.refuse(await claimed())).toBe(true);
    expect(await store.store(old, pairFor(old, true))).toBe(false);
    expect(await person()).toMatchObject({ state: "needs_sign_in", sealed_access_token: null });
  });
});

it.each([true, false])(
  "a pair that is already stored is reported as stored when asked again (%#)",
  async (isReplaced) => {
    const row = await claimed();
    const pair = pairFor(row, isReplaced);
    expect(await store.store(row, pair)).toBe(true);
    expect(await store.store(row, pair)).toBe(true);
    expect((await person()).generation).toBe(2);
  },
);
