import { randomUUID } from "node:crypto";
import {
  retryWhileDatabaseAway,
  type Database,
  type Deadline,
  type Queryable,
} from "../../src/database/database.ts";
import { findLateSteps } from "../../src/work/runner.ts";
import { laterAnswer } from "../../src/resources/answers.ts";
import { answerFirst, insertProvision, receiveGrant } from "../../src/resources/store.ts";
import { Secret } from "../../src/secret.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// The state after a process dies, or stops, between storing a provision and deciding it; no sweep runs.

const life = opened(() => aLifecycle({ environment: { WEB_JOBS: "off" } }));

const HELD_UP = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

async function leftUndecided({ hasGrant = true } = {}): Promise<string> {
  life.control.fault("> POST /resources", { reset: "before" });
  const { addon } = await life.control.install({ plan: "basic" });
  const { code } = life.requestFor(addon.id).oauth_grant;
  const request = {
    ...{ uuid: addon.id, plan: "basic", name: null, region: "us", options: {}, callbackUrl: null },
    ...{ logInputUrl: null, logDrainToken: null, requestId: randomUUID() },
    grant: hasGrant ? { code: new Secret(code), expiresAt: null } : null,
  };
  const ctx = life.world.service.services;
  const insert = (deadline: Deadline) =>
    insertProvision(ctx, { request, answer: null, deadline, traceparent: null });
  expect(await retryWhileDatabaseAway(insert)).not.toBeNull();
  return addon.id;
}

async function grantOf(uuid: string) {
  const [row] = await life.world.rows(
    `SELECT grant_number AS number, due_at IS NOT NULL AS "isDue" FROM credentials WHERE uuid = $1`,
    [uuid],
  );
  return row;
}

const laterFor = (uuid: string) =>
  ({
    uuid,
    answer: laterAnswer("Later.", uuid),
    state: "provisioning",
    config: null,
    next: "provision",
  }) as const;

/** The process that stored a provision has died, and what it was at is anybody's. */
async function lastsForAMinute(uuid: string): Promise<void> {
  await life.world.rows(`UPDATE resources SET created_at = now() - interval '1 minute' WHERE uuid = $1`, [
    uuid,
  ]);
  await findLateSteps(life.world.service.services);
  await life.hurry(uuid);
}

const sweep = () => life.world.service.services.work.runDue("vendor", new AbortController().signal);

async function expectExchanged(uuid: string): Promise<void> {
  await life.world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1 AND due_at IS NOT NULL`, [
    uuid,
  ]);
  const grants = life.world.service.services.exchanges;
  await grants.fill(new AbortController().signal);
  await grants.settled();
  const { code } = life.requestFor(uuid).oauth_grant;
  expect(life.exchangesOf(code).map(({ response }) => response?.status)).toEqual([200]);
  expect(await life.credential(uuid)).toEqual({ state: "active", generation: 1 });
}

describe("a provision that was stored but not decided, delivered again with a new code", () => {
  it("is answered with what a sweep makes of it meanwhile, and the new code is exchanged", async () => {
    const uuid = await leftUndecided();
    await lastsForAMinute(uuid);
    const redelivered = life.control.redeliver(uuid, { newCode: true });
    await eventually(async () => expect(await grantOf(uuid)).toEqual({ number: 2, isDue: false }));
    await sweep();
    expect((await redelivered).response.status).toBe(200);
    expect(await grantOf(uuid)).toEqual({ number: 2, isDue: true });
    await expectExchanged(uuid);
  });

  it("is answered 202 while another process is deciding it, and the new code is due only then", async () => {
    const uuid = await leftUndecided();
    const redelivered = life.control.redeliver(uuid, { newCode: true });
    await eventually(async () => expect(await grantOf(uuid)).toEqual({ number: 2, isDue: false }));
    expect((await redelivered).response.status).toBe(202);
    expect(await grantOf(uuid)).toEqual({ number: 2, isDue: true });
    await expectExchanged(uuid);
  });
});

it.each([
  ["before the answer", true],
  ["after it", false],
])(
  "a provision that was stored without a grant, delivered again with one makes the grant due although that is stored %s at the same moment",
  async (_, isGrantFirst) => {
    const uuid = await leftUndecided({ hasGrant: false });
    const ctx = life.world.service.services;
    const { db } = ctx;
    const { code } = life.requestFor(uuid).oauth_grant;
    const grant = { code: new Secret(code), expiresAt: null };
    const receives = (on: Queryable) =>
      receiveGrant({ ...ctx, db: on as Database }, uuid, grant, randomUUID());
    const decides = (on: Queryable) =>
      answerFirst({ ...ctx, db: on as Database }, { ...laterFor(uuid), lease: 1 });
    const [first, second] = isGrantFirst ? [receives, decides] : [decides, receives];
    const { held } = await db.transaction(async (tx) => {
      expect(await first(tx)).toBeTruthy();
      const held = second(db);
      await eventually(async () => (await life.world.rows(HELD_UP)).length > 0);
      return { held };
    });
    expect(await held).toBeTruthy();
    expect(await grantOf(uuid)).toEqual({ number: 1, isDue: true });
  },
);
