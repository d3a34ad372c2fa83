import { inspect } from "node:util";
import type { Database } from "../../src/database/database.ts";
import { takeDownRefused } from "../../src/resources/refused-provisions.ts";
import { aWorldOfAnOperator } from "../operator/pages/operator.ts";
import { aGrant, aProvisionRequest } from "../support/a-provision-request.ts";
import { interleavings, lost } from "../support/interleavings.ts";
import { kit, kitJson } from "../support/kit.ts";
import { eventually, opened } from "../support/world.ts";

// Provisions that were stored and answered 503 all the same. The platform does not know their grants: no exchange succeeds
// unless a test says so.

const PACE = {
  ...{ exchangeAfterMs: 50, requestMs: 8_000, lostAgainMs: 20 },
  ...{ freshMs: 0, pauses: 0.1, refusalMs: 0 },
};
const { moments, parts } = interleavings();
let isAway = false;
/** Once this statement has run for this resource, the connection is lost, and the database cannot be reached. */
let loss: { after: string; uuid: string; happens?: () => void } | null = null;
const away = () => Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
const unlessAway = (database: Database): Database => ({
  ...database,
  async query(statement, ...values) {
    if (isAway) return away();
    const rows = await database.query(statement, ...values);
    // The provision of an earlier resource may try the same statement again.
    if (loss?.after !== statement.name || !inspect(values, { depth: null }).includes(loss.uuid)) return rows;
    isAway = true;
    loss.happens?.();
    loss = null;
    return lost();
  },
  transaction: (work) => (isAway ? away() : database.transaction(work)),
  ping: () => (isAway ? away() : database.ping()),
  prisma: () => (isAway ? away() : database.prisma()),
});
const wrapDatabase = (database: Database) => parts.wrapDatabase(unlessAway(database));
const operator = opened(() => aWorldOfAnOperator({ parts: { pace: PACE, wrapDatabase } }));
const world = () => operator.world;
const life = () => operator.life;
const environment = () => operator.world.environment;

interface Sale {
  uuid: string;
  state: string;
  endsAt: string | null;
  done: boolean;
}
const sales = async (uuid: string) => {
  const { data } = await kitJson<{ lost: Sale[] }>(environment(), ["lost"]);
  return data.lost.flatMap(({ state, endsAt, done, ...sale }) =>
    sale.uuid === uuid ? [{ state, endsAt, done }] : [],
  );
};
const saleOf = async (uuid: string) => (await sales(uuid))[0];
const stateOf = async (uuid: string) => (await life().resource(uuid))?.state;
const minutesUntil = (time: string | null) => (Date.parse(time!) - Date.now()) / 60_000;

type Request = ReturnType<typeof aProvisionRequest>;
type Headers = Record<string, string>;
/** A request that is to be refused waits for less. */
async function impatient<T>(work: () => Promise<T>): Promise<T> {
  const { pace } = world().service.services;
  const { requestMs, vendorMs } = pace;
  Object.assign(pace, { requestMs: 200, vendorMs: 1_500 });
  return work().finally(() => Object.assign(pace, { requestMs, vendorMs }));
}

/** A provision that is answered 503: once this statement was committed, or at once, the database cannot be reached. */
async function refused(after: string | null, request: Request = aProvisionRequest(), headers: Headers = {}) {
  const before = (await sales(request.uuid)).length;
  if (after === null) isAway = true;
  else loss = { after, uuid: request.uuid };
  const { status } = await impatient(() => life().platform.provision(request, { headers }));
  isAway = false;
  expect(status).toBe(503);
  await eventually(async () => (await sales(request.uuid)).length === before + 1);
  return request;
}
const made = (members: Record<string, unknown> = {}) =>
  refused("answer_provisions", aProvisionRequest(members));

/** Runs the sweep, twice: a run that has begun before does not count. */
async function swept() {
  for (const _ of [1, 2]) {
    await world().forged.jobHasNotRun("fail-stranded");
    await eventually(async () => {
      world().service.services.wake.failStranded();
      return (await world().rows(`SELECT 1 FROM heartbeats WHERE name = 'fail-stranded'`)).length === 1;
    });
  }
}
const anHourPasses = async () => {
  await world().pass({ minutes: 61 });
  await swept();
};
/** What the sweep of a process does once the resources have stayed for long enough. */
const takeDown = (db: Database = world().service.services.db) => {
  const { services } = world().service;
  return takeDownRefused({ ...services, db, pace: { ...services.pace, refusedStaysMs: 0 } });
};
/** An operator ends the hold that follows a restore. */
const holdEnds = () =>
  world().rows(`UPDATE database_history SET done_at = now(), written_by = txid_current() % 4294967296`);
const logged = (uuid: string) => world().lines("Resource taken down", uuid);

afterEach(async () => {
  isAway = false;
  loss = null;
  moments.clear();
  operator.control.clearFaults();
  await world().forged.wasNeverRestored();
});

it.each<[string, string, Record<string, unknown>]>([
  ["was stored", "provision", {}],
  ["was made by your service", "answer_provisions", {}],
  ["was made, and came without a grant", "answer_provisions", { oauth_grant: null }],
])(
  "what %s, and refused, is taken down after an hour without a repeated provision",
  async (_, after, members) => {
    const { uuid } = await refused(after, aProvisionRequest(members));
    const before = (await saleOf(uuid))!;
    expect(before).toMatchObject({ state: "made_here", done: false });
    expect(minutesUntil(before.endsAt)).toBeGreaterThan(59);
    await world().pass({ minutes: 55 });
    await swept();
    expect(await saleOf(uuid)).toMatchObject({ state: "made_here" });
    expect(minutesUntil((await saleOf(uuid))!.endsAt)).toBeLessThan(5);

    await world().pass({ minutes: 6 });
    await life().resourceBecomes(uuid, { state: "deprovisioned" });
    expect(await saleOf(uuid)).toEqual({ state: "taken_down", endsAt: null, done: false });
    expect(logged(uuid)).toHaveLength(1);
    expect(JSON.parse(logged(uuid)[0]!)).toMatchObject({
      plan: "basic",
      refusedAt: expect.stringMatching(/^20/),
    });
    const ended = `SELECT detail FROM events WHERE uuid = $1 AND type = 'deprovisioned'`;
    expect(await world().rows(ended, [uuid])).toMatchObject([{ detail: { because: "lost sale" } }]);
    expect((await life().platform.provision(aProvisionRequest({ uuid }))).status).toBe(410);
    // Your service cleans up, once, when a call that may run has noticed.
    if (after === "provision") expect(await life().steps(uuid)).toEqual(["clean_up"]);
    else await life().nothingLeft(uuid);
    expect(life().vendor.callsOf(uuid, "deprovision")).toHaveLength(after === "provision" ? 0 : 1);
  },
);

it.each<[string, () => Promise<Request>, string]>([
  [
    "the platform has repeated, with the same code",
    async () => {
      const request = await made();
      expect((await life().platform.provision(request)).status).toBe(200);
      return request;
    },
    "installed",
  ],
  [
    "the platform has repeated, with another code",
    async () => {
      const request = await made();
      const again = await life().platform.provision({ ...request, oauth_grant: aGrant() });
      expect(again.status).toBe(200);
      return request;
    },
    "installed",
  ],
  [
    "the platform has given tokens for",
    async () => {
      const uuid = await life().settled();
      const [row] = await world().rows<{ id: string }>(
        `SELECT request_id AS id FROM credentials WHERE uuid = $1`,
        [uuid],
      );
      return refused(null, { ...life().requestFor(uuid) }, { "request-id": row!.id });
    },
    "installed",
  ],
  [
    "the platform has asked another plan for",
    async () => {
      const request = await made();
      expect((await life().platform.changePlan(request.uuid, { plan: "premium" })).status).toBe(200);
      return request;
    },
    "made_here",
  ],
  [
    "an earlier request has made, which was answered",
    async () => {
      const request = aProvisionRequest();
      expect((await life().platform.provision(request)).status).toBe(200);
      return refused(null, request);
    },
    "made_here",
  ],
  [
    "was refused to a caller that had gone",
    async () => {
      const request = aProvisionRequest();
      const gone = new AbortController();
      loss = { after: "answer_provisions", uuid: request.uuid, happens: () => gone.abort() };
      await impatient(async () => {
        const sent = fetch(`${operator.url()}/resources`, {
          method: "POST",
          headers: { authorization: authorization(), "content-type": "application/json" },
          body: JSON.stringify(request),
          signal: gone.signal,
        });
        await expect(sent).rejects.toThrow();
        await eventually(() => world().lines("provision_lost", request.uuid).length === 1);
      });
      isAway = false;
      await eventually(async () => (await saleOf(request.uuid)) ?? null);
      return request;
    },
    "made_here",
  ],
  [
    "a backup has brought back",
    async () => {
      const request = await made();
      await world().forged.wasRestored();
      await holdEnds();
      return request;
    },
    "made_here",
  ],
])("what %s stays", async (_, prepare, state) => {
  const { uuid } = await prepare();
  expect(await saleOf(uuid)).toEqual({ state, endsAt: null, done: false });
  await anHourPasses();
  expect(await stateOf(uuid)).toBe("provisioned");
  expect(await saleOf(uuid)).toMatchObject({ state, endsAt: null });
  expect(logged(uuid)).toEqual([]);
});

const authorization = () => {
  const { addonId, addonPassword } = world().sandbox.settings;
  return `Basic ${Buffer.from(`${addonId}:${addonPassword}`).toString("base64")}`;
};

it("is not taken down while a restore holds, and is once the hold has ended", async () => {
  await world().forged.wasRestored(5 * 3_600);
  const { uuid } = await made();
  expect(await saleOf(uuid)).toMatchObject({ endsAt: null });
  await anHourPasses();
  expect(await stateOf(uuid)).toBe("provisioned");
  await holdEnds();
  await life().resourceBecomes(uuid, { state: "deprovisioned" });
});

it("a call for its grant that is under way is awaited", async () => {
  operator.control.fault("POST /oauth/token", { delayMs: 15_000 }, 1);
  const { uuid } = await made();
  await life().becomes(uuid, { isLeased: true });
  await anHourPasses();
  expect(await life().row(uuid)).toMatchObject({ isLeased: true });
  expect(await stateOf(uuid)).toBe("provisioned");
  await life().resourceBecomes(uuid, { state: "deprovisioned" });
});

it("the hour begins anew when it is refused once more", async () => {
  const request = await made();
  await world().pass({ minutes: 40 });
  await refused(null, request);
  const [last] = await sales(request.uuid);
  expect(minutesUntil(last!.endsAt)).toBeGreaterThan(59);
  await world().pass({ minutes: 40 });
  await swept();
  expect(await stateOf(request.uuid)).toBe("provisioned");
  await world().pass({ minutes: 21 });
  await life().resourceBecomes(request.uuid, { state: "deprovisioned" });
  expect((await sales(request.uuid)).map(({ state }) => state)).toEqual(["taken_down", "taken_down"]);
});

it("two processes that find it at the same time take it down once", async () => {
  const { uuid } = await made({ oauth_grant: null });
  const { db } = world().service.services;
  let bothHaveFound!: () => void;
  const gate = new Promise<void>((resolve) => (bothHaveFound = resolve));
  let found = 0;
  const gated: Database = {
    ...db,
    async query(statement, ...values) {
      const rows = await db.query(statement, ...values);
      if (statement.name !== "find_refused_provisions") return rows;
      expect(rows).toHaveLength(1);
      if ((found += 1) === 2) bothHaveFound();
      await gate;
      return rows;
    },
  };
  await Promise.all([takeDown(gated), takeDown(gated)]);
  expect(await stateOf(uuid)).toBe("deprovisioned");
  expect(logged(uuid)).toHaveLength(1);
  expect((await life().events(uuid)).filter((type) => type === "deprovisioned")).toHaveLength(1);
  await life().nothingLeft(uuid);
  expect(life().vendor.callsOf(uuid, "deprovision")).toHaveLength(1);
});

describe("a repeated provision at the same moment", () => {
  it("that is answered first keeps it", async () => {
    const request = await made({ oauth_grant: null });
    const { db } = world().service.services;
    await takeDown({
      ...db,
      async query(statement, ...values) {
        const rows = await db.query(statement, ...values);
        if (statement.name === "find_refused_provisions")
          expect((await life().platform.provision(request)).status).toBe(200);
        return rows;
      },
    });
    expect(await stateOf(request.uuid)).toBe("provisioned");
    expect(await saleOf(request.uuid)).toMatchObject({ state: "installed" });
  });

  it("that comes too late is refused", async () => {
    const request = await made({ oauth_grant: null });
    moments.set("before note_repeated_provision", () => takeDown());
    expect((await life().platform.provision(request)).status).toBe(410);
    expect(await stateOf(request.uuid)).toBe("deprovisioned");
  });
});

it("an operator reads when it ends, and that it was taken down, and still has to write to the customer", async () => {
  const { uuid } = await made({ oauth_grant: null, name: "kettle-9" });
  const command = async () => (await kit(environment(), ["lost"])).stdout;
  const ends = /made here, refused there; ends \d{4}-\d\d-\d\d \d\d:\d\d/;
  expect(await command()).toMatch(ends);
  expect(await command()).toContain(
    "At the time that is shown it is taken down, unless the platform repeats",
  );
  expect((await operator.get("/lost")).text).toMatch(ends);
  await takeDown();
  expect(await command()).toContain("made here, taken down since");
  const { text } = await operator.get("/lost");
  expect(text).toContain("kettle-9");
  expect(text).toContain("made here, taken down since");
  expect((await kit(environment(), ["doctor"])).stdout).toContain("kettle-9");
  expect(await saleOf(uuid)).toMatchObject({ done: false });
});

it("ticking a sale off says that its customer was written to: what was made here is taken down still", async () => {
  const { uuid } = await made({ oauth_grant: null });
  const { data } = await kitJson<{ lost: (Sale & { id: number })[] }>(environment(), ["lost"]);
  const { id } = data.lost.find((sale) => sale.uuid === uuid)!;
  await kit(environment(), ["lost", "--done", String(id)]);
  await anHourPasses();
  await life().resourceBecomes(uuid, { state: "deprovisioned" });
});

it("lost sales of before this release are left to an operator", async () => {
  const { uuid } = await made({ oauth_grant: null });
  await world().rows(`UPDATE lost_sales SET is_heard = DEFAULT WHERE uuid = $1`, [uuid]);
  const stays = "has no such time, stays until an operator decides";
  expect((await kit(environment(), ["lost"])).stdout).toContain(stays);
  await anHourPasses();
  expect(await stateOf(uuid)).toBe("provisioned");
});
