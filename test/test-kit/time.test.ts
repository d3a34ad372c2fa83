import type { Extensions, Kit } from "../../src/extend/contract.ts";
import { aBrowser } from "../people/browser.ts";
import { SALT } from "../people/customers.ts";
import { aVendor, type Vendor } from "../support/a-vendor.ts";
import type { Span } from "../support/time.ts";
import { aWorld, eventually, opened, QUICK } from "../support/world.ts";

// What docs/test-it.md promises for the tests of your service: time passes without a wait, and without SQL on the kit's
// tables. The sweeps are too rare to help, and the pauses too long.

let kit: Kit;
const vendor: Vendor & Extensions = aVendor();
const jobs = { runs: 0, fails: false };
const retired: unknown[] = [];
let retireFails = false;
vendor.jobs = [
  {
    name: "end-trials",
    at: "0 3 1 1 *",
    async run() {
      jobs.runs += 1;
      if (jobs.fails) throw new Error("The calendar is lost.");
    },
  },
];
vendor.rotation = {
  overlapMinutes: 60,
  rotate: async ({ plan }) => ({
    config: { TEAPOT_URL: `https://${plan}.example`, TEAPOT_TOKEN: "new" },
    retires: "old",
  }),
  async retire(_resource, old) {
    if (retireFails) throw new Error("The kiln is cold.");
    retired.push(old);
  },
};

const world = opened(() =>
  aWorld({
    sandbox: { ssoSalt: SALT },
    environment: { SWEEP_CRON: "0 0 1 1 *", SSO_SALT: SALT },
    parts: { vendor: (given) => ((kit = given), vendor), pace: { ...QUICK, pauses: 10 } },
  }),
);
beforeEach(() => {
  vendor.asUsual();
  Object.assign(jobs, { fails: false });
  retireFails = false;
  retired.length = 0;
});

const tokensOf = (uuid: string) => world.sandbox.control.addon(uuid).tokens;

describe("world.pass", () => {
  it("has a token refreshed after eight hours, and the platform takes the new one alone", async () => {
    const uuid = await world.settled();
    const before = tokensOf(uuid).length;
    await world.pass({ hours: 8 });
    await eventually(() => expect(tokensOf(uuid).length).toBeGreaterThan(before));
    await world.quiet([uuid]);
    expect(tokensOf(uuid).at(-1)).toMatchObject({ state: "valid" });
    expect((await kit.platformFor(uuid).addons.own()).id).toBe(uuid);
  });

  it("makes what is stored so much older, to the second, and what the vendor stores as well", async () => {
    await world.rows(`CREATE SCHEMA IF NOT EXISTS yours`);
    await world.rows(
      `CREATE TABLE yours.notes (day date PRIMARY KEY, at timestamptz DEFAULT now(), plain timestamp(3) DEFAULT now())`,
    );
    await world.rows(`INSERT INTO yours.notes (day) SELECT current_date - n FROM generate_series(0, 20) n`);
    const uuid = await world.settled();
    await world.pass({ days: 14, seconds: 30 });
    const [row] = await world.rows(
      `SELECT extract(epoch FROM now() - r.created_at) BETWEEN 14 * 86400 + 30 AND 14 * 86400 + 90 AS resource,
         (SELECT extract(epoch FROM now() - max(at)) BETWEEN 14 * 86400 + 30 AND 14 * 86400 + 90 FROM yours.notes) AS yours,
         (SELECT extract(epoch FROM now()::timestamp - max(plain)) BETWEEN 14 * 86400 + 30 AND 14 * 86400 + 90 FROM yours.notes) AS plain,
         (SELECT current_date - max(day) FROM yours.notes) AS days,
         (SELECT count(*)::int FROM events WHERE uuid = r.uuid AND at > now() - interval '1 day') AS events
       FROM resources r WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({ resource: true, yours: true, plain: true, days: 14, events: 0 });
    await world.rows(`DROP TABLE yours.notes`);
  });

  it("has a job of the vendor's run whose time has come, once", async () => {
    await world.runJob("end-trials");
    jobs.runs = 0;
    await world.pass({ days: 366 });
    await eventually(() => expect(jobs.runs).toBe(1));
  });

  it("has the old credentials retired when the overlap is over, and not before", async () => {
    const uuid = await world.settled();
    expect(await kit.rotate(uuid)).toBe("asked");
    await eventually(() => expect(world.sandbox.control.configVars(appOf(uuid))["TEAPOT_TOKEN"]).toBe("new"));
    await eventually(async () => expect(await kit.rotate(uuid)).toBe("overlap"));
    await world.pass({ minutes: 59 });
    expect(await kit.rotate(uuid)).toBe("overlap");
    expect(retired).toEqual([]);
    await world.pass({ minutes: 1 });
    await eventually(() => expect(retired).toEqual(["old"]));
    await world.quiet([uuid]);
  });

  it("ends a customer's session, and lets the customer sign on again", async () => {
    const uuid = await world.settled();
    const browser = aBrowser(() => world.service.url!);
    const signOn = () =>
      browser.post("/sso/login", {}, new URLSearchParams(world.sandbox.control.signOnForm(uuid).form));
    await signOn();
    expect((await browser.get(`/customer/${uuid}`)).status).toBe(200);
    await world.pass({ days: 1 });
    expect((await browser.get(`/customer/${uuid}`)).status).toBe(401);
    await signOn();
    expect((await browser.get(`/customer/${uuid}`)).status).toBe(200);
  });

  it("lets the life of a resource go on: a plan change, a new install and a removal", async () => {
    const uuid = await world.settled();
    await world.pass({ days: 400 });
    await world.quiet([uuid]);
    expect((await world.sandbox.control.changePlan(uuid, "premium")).response.status).toBe(200);
    await world.settled();
    expect((await world.sandbox.control.deprovision(uuid)).response.status).toBe(204);
    expect(world.lines('"alarm":"clocks_apart"')).toEqual([]);
    expect(world.lines('"alarm":"database_restored"')).toEqual([]);
  });

  it.each<[string, Span]>([
    ["no time", {}],
    ["back", { days: -1 }],
    ["for ever", { days: Infinity }],
  ])("refuses to pass %s", async (_what, span) => {
    await expect(world.pass(span)).rejects.toThrow("only pass forward");
  });
});

const appOf = (uuid: string) => world.sandbox.control.addon(uuid).app.name;

describe("world.runJob", () => {
  it("returns when the run has ended, and throws what it threw", async () => {
    jobs.runs = 0;
    await world.runJob("end-trials");
    expect(jobs.runs).toBe(1);
    jobs.fails = true;
    await expect(world.runJob("end-trials")).rejects.toThrow('"end-trials" failed: The calendar is lost.');
    jobs.fails = false;
    await world.runJob("end-trials");
    expect(jobs.runs).toBe(3);
  });

  it("names the jobs there are for one that is not", async () => {
    await expect(world.runJob("end-trails")).rejects.toThrow(
      'There is no job "end-trails". The jobs are: end-trials.',
    );
  });
});

describe("world.hurry", () => {
  it("has finish called now, each time once, until it is done", async () => {
    vendor.next("provision", async () => ({ later: "A potter is on the way." }));
    vendor.next("finish", async () => ({ later: "The kiln is heating." }));
    vendor.next("finish", async () => ({ later: "It cools.", againInSeconds: 3_600 }));
    const { addon } = await world.sandbox.control.install({ plan: "basic" });
    const finished = () => vendor.callsOf(addon.id, "finish").length;
    await eventually(() => expect(finished()).toBe(1));
    await world.hurry(addon.id);
    expect(finished()).toBe(2);
    await world.hurry(addon.id);
    expect(finished()).toBe(3);
    await eventually(() => expect(world.sandbox.control.addon(addon.id).state).toBe("provisioned"));
    await world.quiet([addon.id]);
    await world.hurry(addon.id);
    expect(finished()).toBe(3);
  });

  it("has a function called again that failed", async () => {
    const uuid = await world.settled();
    const failing = async () => Promise.reject(new Error("The kiln is cold."));
    vendor.next("deprovision", failing);
    vendor.next("deprovision", failing);
    await world.sandbox.control.deprovision(uuid);
    await eventually(() => expect(vendor.callsOf(uuid, "deprovision")).toHaveLength(1));
    await world.hurry(uuid);
    expect(vendor.callsOf(uuid, "deprovision")).toHaveLength(2);
    await world.hurry(uuid);
    expect(vendor.callsOf(uuid, "deprovision")).toHaveLength(3);
  });
});

describe("world.endOverlap", () => {
  it("waits for the new credentials, ends the old ones, and says why they could not be ended", async () => {
    const uuid = await world.settled();
    await kit.rotate(uuid);
    retireFails = true;
    await expect(world.endOverlap(uuid)).rejects.toThrow("The kiln is cold.");
    expect(world.sandbox.control.configVars(appOf(uuid))["TEAPOT_TOKEN"]).toBe("new");
    retireFails = false;
    await world.endOverlap(uuid);
    expect(retired).toEqual(["old"]);
    await world.quiet([uuid]);
  });
});
