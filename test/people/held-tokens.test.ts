import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { refreshesSettled } from "../../src/credentials/sweeps.ts";
import { openContext } from "../../src/open-context.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually } from "../support/world.ts";
import type { Browser } from "./browser.ts";
import { aWorldOfPeople, type PeopleWorld, type PersonRow } from "./people.ts";

// A refresh token was replaced, and the row cannot be written: the only tokens of a person are in
// the memory of one process.

const HELD = "owner@example.com";
const OTHER = "colleague@example.com";

let people: PeopleWorld;
let browser: Browser;
let since = 0;
beforeAll(async () => void (people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } })));
beforeEach(async () => {
  await people.forgetEverybody();
  browser = people.browser();
  await people.signIn(browser, { user: HELD });
  await countFromOne();
  people.control.settings({ refreshToken: "new" });
  since = people.control.ledger().next;
  await refuse(HELD);
  const before = told();
  await makeDue(HELD);
  wake();
  await eventually(() => expect(told()).toBe(before + 1));
});
afterEach(async () => {
  await takeAgain();
  await refreshesSettled(people.world.service.services);
  people.control.settings({ refreshToken: "same" });
});
afterAll(() => people.close());

/** Counts begin at random. */
const countFromOne = () => people.world.rows(`UPDATE credentials SET generation = 1, lease = 0`);
const wake = () => people.world.service.services.jobs.wake("refresh-tokens");
const told = () => people.world.logged().split("Tokens cannot be stored").length - 1;
const personOf = async (email: string) =>
  (await people.people()).find((row) => row.email === email) as PersonRow;
const makeDue = (email: string) =>
  people.world.rows(
    `UPDATE credentials SET due_at = now(), leased_until = NULL WHERE uuid = (SELECT uuid FROM people WHERE email = $1)`,
    [email],
  );
const refreshes = () =>
  people.control
    .ledger({ since, reveal: true })
    .entries.filter(
      ({ request }) => (request.body as { grant_type?: string } | null)?.grant_type === "refresh_token",
    );
/** The stored pair is the platform's latest, and its refresh token works. */
async function expectAlive(generation: number): Promise<void> {
  expect(await personOf(HELD)).toMatchObject({ state: "signed_in", reason: null, generation });
  expect((await browser.get("/oauth/me")).status).toBe(200);
  await makeDue(HELD);
  await people.job("refresh-tokens");
  expect(await personOf(HELD)).toMatchObject({ state: "signed_in", generation: generation + 1 });
}

/** From now on tokens of this person cannot be stored. */
async function refuse(email: string): Promise<void> {
  await people.world.rows(
    `CREATE FUNCTION refuse_tokens() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF OLD.uuid = (SELECT uuid FROM people WHERE email = '${email}') THEN RAISE insufficient_privilege; END IF; RETURN NEW; END $$`,
  );
  await people.world.rows(
    `CREATE TRIGGER refuse_tokens BEFORE UPDATE OF generation ON credentials FOR EACH ROW EXECUTE FUNCTION refuse_tokens()`,
  );
}
const takeAgain = () => people.world.rows(`DROP FUNCTION IF EXISTS refuse_tokens CASCADE`);

describe("tokens of a person that cannot be stored", () => {
  it("delay no other refresh and no sweep", async () => {
    await people.world.rows(`DELETE FROM heartbeats WHERE name = 'refresh-tokens'`);
    await people.signIn(people.browser(), { user: OTHER });
    await people.world
      .rows(`UPDATE credentials SET generation = 1 WHERE generation > 2`)
      .catch(() => undefined);
    await makeDue(OTHER);
    wake();
    await eventually(async () => expect(await personOf(OTHER)).toMatchObject({ generation: 2 }), 5_000);
    await eventually(
      async () =>
        (await people.world.rows(`SELECT 1 FROM heartbeats WHERE name = 'refresh-tokens'`)).length === 1,
      5_000,
    );
    expect(await personOf(HELD)).toMatchObject({ state: "signed_in", generation: 1 });
  });

  it("are not requested again with the old token when their lease has ended", async () => {
    const { lease } = await personOf(HELD);
    await makeDue(HELD);
    wake();
    await eventually(async () => expect((await personOf(HELD)).lease).toBeGreaterThan(lease), 5_000);
    // Nor by a caller that needs one now.
    await people.world.rows(`UPDATE credentials SET expires_at = now(), leased_until = NULL`);
    expect((await browser.get("/oauth/me")).status).not.toBe(401);
    expect(refreshes()).toHaveLength(1);
    expect(await personOf(HELD)).toMatchObject({ state: "signed_in", generation: 1 });
    await takeAgain();
    await eventually(async () => expect((await personOf(HELD)).generation).toBe(2));
    await expectAlive(2);
  });

  it("are stored before the process stops", async () => {
    let hasStopped = false;
    const restarted = people.world.restart().then(() => (hasStopped = true));
    await sleep(1_500);
    expect(hasStopped).toBe(false);
    await takeAgain();
    await restarted;
    await expectAlive(2);
  });

  it("are stored although another process was refused with the old token and ended the sign-in", async () => {
    const other = await openContext(teapotConfig(people.world.environment), {
      ...teapotParts,
      logTo: { write: () => undefined },
    });
    try {
      // Repeated if the process that holds them was first and kept the row.
      await eventually(async () => {
        await makeDue(HELD);
        await other.refreshes.fill(new AbortController().signal);
        await refreshesSettled(other);
        expect(await personOf(HELD)).toMatchObject({
          ...{ state: "needs_sign_in", sealed_access_token: null, sealed_refresh_token: null },
        });
      });
    } finally {
      await other.close();
    }
    await takeAgain();
    await eventually(async () => expect((await personOf(HELD)).generation).toBe(2));
    await expectAlive(2);
  });
});
