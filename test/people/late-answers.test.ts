import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { statement } from "../../src/database/database.ts";
import { storeTokens } from "../../src/credentials/store.ts";
import { eventually } from "../support/world.ts";
import type { Browser } from "./browser.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

// Answers to a refresh that arrive after the person has signed out and in again: their row is a new one by then; and
// sign-ins at a process of the release before.

let people: PeopleWorld;
let browser: Browser;
beforeAll(async () => void (people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } })));
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

describe("an answer for tokens of an earlier sign-in", () => {
  it.each(["new", "same"] as const)(
    "with the %s refresh token does not change the new ones",
    async (which) => {
      people.control.settings({ refreshToken: which });
      people.control.fault("POST /oauth/token", { delayMs: 3_000 });
      const { lease } = await person();
      await people.world.rows(`UPDATE credentials SET due_at = now()`);
      people.world.service.services.jobs.wake("refresh-tokens");
      await eventually(async () => (await person()).lease === lease + 1);
      await browser.post("/oauth/logout");
      expect(await people.people()).toEqual([]);
      await people.signIn(browser);
      const fresh = await person();
      await people.job("refresh-tokens");
      expect(await person()).toEqual(fresh);
      expect((await browser.get("/oauth/me")).status).toBe(200);
    },
  );
});

it("a pair that is already stored is reported as stored when asked again", async () => {
  const { uuid, lease, generation } = await person();
  const pair = {
    ...{ uuid, lease, first: false, access: Buffer.from("access"), refresh: null, replaces: null },
    ...{ lifeSeconds: 28_800, share: 0.5, secretVersion: null, flags: "" },
  };
  expect(await storeTokens(people.world.db, pair)).toBe(true);
  expect(await storeTokens(people.world.db, pair)).toBe(true);
  expect((await person()).generation).toBe(generation + 1);
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
