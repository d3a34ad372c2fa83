import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import express from "express";
import { migrate } from "../../src/database/migrate.ts";
import { Refusal } from "../../src/errors.ts";
import type { Extensions, Kit, KitResource, ResourceFilter, YourJob } from "../../src/extend/contract.ts";
import { claimJobs } from "../../src/extend/job-store.ts";
import { createYourJobs } from "../../src/extend/jobs.ts";
import { openContext } from "../../src/open-context.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import type { CustomerPage, CustomerTools } from "../../src/people/contract.ts";
import { changeConfig, lockedResource } from "../../src/resources/store.ts";
import { aVendor, type Vendor } from "../support/a-vendor.ts";
import { kit as command } from "../support/kit.ts";
import { basic } from "../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// A vendor's service with routes and jobs of its own, and what the kit offers it.

const METRICS_PASSWORD = "a-password-of-the-scraper";
const OPERATOR_PASSWORD = "a-password-of-the-operator";
let kit: Kit;
const vendor: Vendor & Extensions = aVendor();
/** Runs of the job, and what the next of them do. */
const runs: AbortSignal[] = [];
const next: YourJob["run"][] = [];
/** What the vendor's check says. */
let trouble: string | null = null;

vendor.routes = (router) => {
  router.post("/moved/:uuid", express.json(), async (request, response) => {
    await kit.config.set(String(request.params["uuid"]), request.body as Record<string, string | null>);
    response.status(204).end();
  });
  router.get("/refuses", () => {
    throw new Refusal("Not today.", { id: "not_today", status: 409 });
  });
  router.get("/throws", async () =>
    Promise.reject(Object.assign(new Error("broken inside"), { status: 401 })),
  );
  router.get("/throws/typed", () => {
    throw Object.assign(new Error("broken inside, with a type"), { status: 429, type: "insufficient_quota" });
  });
  router.get("/throws/late", (_request, response) => {
    response.json("done");
    throw new Error("broken after the answer");
  });
};
vendor.metrics = {
  bells_total: { help: "Bells that rang", labels: ["tower"] },
  rings_total: { help: "Rings" },
  rings_total_count: { help: "Of another kind" },
};
vendor.checks = {
  bell: async () => trouble,
  rope: async () => Promise.reject(new Error(`The rope is refused: ${METRICS_PASSWORD}.`)),
  tower: () => new Promise(() => undefined),
  clock: async () => ({ ticks: true }) as unknown as string,
};
vendor.jobs = [
  {
    name: "meter",
    at: "0 3 * * *",
    async run(signal, run) {
      runs.push(signal);
      await next.shift()?.(signal, run);
    },
  },
];
const world = opened(() =>
  aWorld({
    environment: {
      ...{ METRICS_PASSWORD, OPERATOR_PASSWORD },
      ...{ SWEEP_CRON: "* * * * * *", PUBLIC_URL: "http://localhost" },
    },
    parts: { vendor: (given) => ((kit = given), vendor) },
  }),
);
beforeEach(() => {
  runs.length = 0;
  next.length = 0;
});

async function installed() {
  const app = world.sandbox.control.createApp({}).name;
  const { addon } = await world.sandbox.control.install({ app, plan: "basic" });
  await world.quiet([addon.id]);
  return { uuid: addon.id, app, vars: () => world.sandbox.control.configVars(app) };
}

const call = (path: string, init?: RequestInit) => fetch(`${world.service.url}${path}`, init);
const headers = { "content-type": "application/json" };
const moved = (uuid: string, vars: object) =>
  call(`/moved/${uuid}`, { method: "POST", headers, body: JSON.stringify(vars) });

describe("a route of the vendor's", () => {
  it("answers, its refusals and errors as JSON without what is inside", async () => {
    const answers = await Promise.all(["/refuses", "/throws", "/throws/typed"].map((path) => call(path)));
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    expect(answers.map(({ status }) => status)).toEqual([409, 500, 500]);
    expect(bodies).toEqual([
      { id: "not_today", message: "Not today." },
      ...Array(2).fill({ id: "internal_error", message: expect.not.stringContaining("broken inside") }),
    ]);
    // One that comes after the answer is logged too.
    await call("/throws/late").catch(() => null);
    for (const words of ["broken inside", "with a type", "broken after the answer"])
      await eventually(() => expect(world.logged()).toContain(words));
  });

  it("sets config vars of one app, which keeps its others; if the platform is down it gets them when it is back", async () => {
    const { uuid, vars } = await installed();
    const { control } = world.sandbox;
    const before = vars();
    control.fault("PATCH /addons/*/config", { status: 503 }, 100);
    expect((await moved(uuid, { TEAPOT_URL: "https://moved.example" })).status).toBe(204);
    await eventually(() => control.ledger().entries.some(({ response }) => response?.status === 503));
    expect(vars()).toEqual(before);
    control.clearFaults();
    await eventually(() => vars()["TEAPOT_URL"] === "https://moved.example");
    expect(vars()).toEqual({ ...before, TEAPOT_URL: "https://moved.example" });
    expect((await moved(uuid, { TEAPOT_TOKEN: null })).status).toBe(204);
    await eventually(() => !("TEAPOT_TOKEN" in vars()));
  });

  it("sets them although the platform no longer takes one of an earlier release", async () => {
    const { uuid, vars } = await installed();
    const { db, vault } = world.service.services;
    await db.transaction(async (tx) => {
      const resource = (await lockedResource(tx, uuid))!;
      await changeConfig(tx, vault, resource, [{ name: "KETTLE_URL", value: "https://of-old.example" }]);
    });
    expect((await moved(uuid, { TEAPOT_URL: "https://new.example" })).status).toBe(204);
    // Not at once: the manifest of a newer release may be still to come.
    await eventually(async () => (await world.forged.failedStepsAreDueIn(uuid, 0, 11)).length > 0);
    await eventually(() => vars()["TEAPOT_URL"] === "https://new.example");
    await world.quiet([uuid]);
  });

  it("cannot set a text that no environment can hold, nor what is set with it", async () => {
    const { uuid, vars } = await installed();
    const before = vars();
    await expect(kit.config.set(uuid, { TEAPOT_TOKEN: "x", TEAPOT_URL: "a\0b" })).rejects.toThrow("NUL");
    const unset = { TEAPOT_URL: undefined as unknown as string };
    await expect(kit.config.set(uuid, unset)).rejects.toThrow("undefined");
    await expect(kit.config.set("no-uuid", {})).rejects.toThrow("uuid");
    expect(vars()).toEqual(before);
  });

  const listed = async (filter?: ResourceFilter) => {
    const all: KitResource[] = [];
    for await (const each of kit.resources.list(filter)) all.push(each);
    return all;
  };

  it("finds and lists what is provisioned; a deprovisioned resource is neither found nor changed", async () => {
    const { uuid } = await installed();
    await world.sandbox.control.deprovision(uuid);
    const kept = await installed();
    expect(await kit.resources.find(uuid)).toBeNull();
    await expect(kit.config.set(uuid, { TEAPOT_URL: "x" })).rejects.toThrow("not provisioned");
    const found = {
      ...{ uuid: kept.uuid, plan: "basic", options: {}, state: "provisioned", isChangingPlan: false },
      ...{
        region: expect.any(String),
        createdAt: expect.any(Date),
        app: expect.objectContaining({ name: kept.app }),
      },
    };
    expect(await kit.resources.find(kept.uuid.toUpperCase())).toMatchObject(found);
    const all = await listed();
    expect(all).toContainEqual(expect.objectContaining(found));
    expect(all.map((each) => each.uuid)).not.toContain(uuid);
  });

  it("lists those that a filter wants, in order, on whichever page of the table they are", async () => {
    const [old, other] = [await installed(), await installed()].map(({ uuid }) => uuid) as [string, string];
    await world.forged.resourceIsFrom([old], 14 * 86_400);
    await world.forged.manyAreProvisioned(2_500, { plan: "premium", region: "far" });
    const before = new Date(Date.now() - 13 * 86_400_000);
    const among = async (filter: ResourceFilter) => {
      const uuids = (await listed(filter)).map(({ uuid }) => uuid);
      expect([...uuids].sort()).toEqual(uuids);
      return [uuids.includes(old), uuids.includes(other), uuids.length];
    };
    expect(await among({ region: "far" })).toEqual([false, false, 2_500]);
    expect(await among({ plan: "basic", createdBefore: before })).toEqual([true, false, 1]);
    const [isOld, isOther, count] = await among({ plan: "basic", createdAfter: before });
    expect([isOld, isOther]).toEqual([false, true]);
    expect(await among({ plan: "basic" })).toEqual([true, true, Number(count) + 1]);
    expect(await among({ plan: "premium", region: "near" })).toEqual([false, false, 0]);
    expect(await among({ state: "provisioning" })).toEqual([false, false, 0]);
    await world.forged.provisionIsUnfinished([other]);
    expect(await among({ state: "provisioning" })).toEqual([false, true, 1]);
    await world.forged.resourceIs([other], "provisioned");
    await world.forged.theManyAreGone();
  });

  it("shows that the plan of a resource changes, with the plan that it still has", async () => {
    const { uuid } = await installed();
    vendor.next("changePlan", async () => ({ later: "It is warmed up." }));
    vendor.next("finish", async () => ({ later: "It is warmed up.", againInSeconds: 3_600 }));
    await world.sandbox.control.changePlan(uuid, "premium");
    expect(await kit.resources.find(uuid)).toMatchObject({ plan: "basic", isChangingPlan: true });
  });

  it("reaches the platform for a resource, and the database in a transaction", async () => {
    const { uuid, app } = await installed();
    expect((await kit.platformFor(uuid).addons.own()).app.name).toBe(app);
    await kit.database.query("CREATE TABLE bells (name text)");
    const ring = (name: string, fails: boolean) =>
      kit.database.transaction(async (tx) => {
        await tx.query("INSERT INTO bells VALUES ($1)", [name]);
        if (fails) throw new Error("out of tune");
      });
    await ring("kept", false);
    await expect(ring("rolled back", true)).rejects.toThrow("out of tune");
    expect(await kit.database.query("SELECT name FROM bells")).toEqual([{ name: "kept" }]);
  });
});

async function row() {
  const [found] = await world.rows<{ error: string | null; attempts: number; inMinutes: number }>(
    `SELECT last_error AS error, attempts, extract(epoch FROM due_at - now())::float8 / 60 AS "inMinutes"
     FROM your_jobs WHERE name = 'meter' AND leased_until IS NULL`,
  );
  return found ?? null;
}

const read = async (path: string, authorization: string) =>
  (await call(path, { headers: { authorization } })).text();
const scraped = () => read("/metrics", basic("metrics", METRICS_PASSWORD));

describe("the vendor's metrics and checks", () => {
  it("are scraped beside the kit's, which times the vendor's functions", async () => {
    await installed();
    expect(await scraped()).toMatch(/^rings_total 0$/m);
    kit.count("bells_total", { tower: "north" }, 2);
    kit.count("bells_total", { tower: "north" });
    await eventually(async () => /^bells_total\{tower="north"\} 3$/m.test(await scraped()));
    const timed = /^addon_your_service_duration_seconds_count\{function="provision",result="done"\} [1-9]/m;
    await eventually(async () => timed.test(await scraped()));
  });

  const hostile = { get tower(): string { throw new Error("the bell jams") } }; // prettier-ignore
  it.each<[string, string, unknown, unknown, string]>([
    ["a name that is not declared", "gongs_total", {}, 1, "gongs_total is not among the metrics"],
    ["a label that is not declared", "bells_total", { steeple: "north" }, 1, "steeple"],
    ["a label that is no text", "bells_total", { tower: 5 }, 1, "the label tower is no text"],
    ["a label that cannot be read", "bells_total", hostile, 1, "the bell jams"],
    ["labels that are none", "bells_total", null, 1, "null"],
    ...[NaN, -1, Infinity, "2", 2n].map(
      (by) =>
        [`${typeof by} ${by}`, "bells_total", { tower: "odd" }, by, ""] as [
          string,
          string,
          object,
          unknown,
          string,
        ],
    ),
  ])(
    "are not counted with %s, which the log names, and nothing is thrown",
    async (_what, name, labels, by, words) => {
      const before = world.lines("kit.count()").length;
      kit.count(name, labels as Record<string, string>, by as number);
      expect(world.lines("kit.count()").length).toBe(before + 1);
      expect(world.lines("kit.count()", `"metric":"${name}"`, words)).not.toEqual([]);
      expect(await scraped()).not.toMatch(/tower="odd"/);
    },
  );

  it("are scraped each by its own name, also one that is named like another with an end of a histogram's", async () => {
    expect((await scraped()).match(/^rings_total_count 0$/gm)).toHaveLength(1);
  });

  it("take any text as a label's value, and as an alarm in the log, of which 100 characters are kept", async () => {
    kit.count("bells_total", { tower: `a\0b${"🔔".repeat(2_000)}`.slice(0, 100) });
    kit.log.error({ alarm: `a\0b${randomBytes(4_000).toString("hex")}` }, "The bell is cracked");
    await eventually(async () => {
      const text = await scraped();
      expect(text).toMatch(/^bells_total\{tower="ab🔔/m);
      expect(text).toMatch(/^addon_alarms_total\{alarm="ab[0-9a-f]{97}"\} 1$/m);
    });
  });

  it("are lines of kit doctor: what a check says, and jobs that failed, which the overview shows too", async () => {
    const lines = async () => {
      const parts = { vendor, pace: { checkMs: 300 } };
      const { stdout } = await command(world.environment, ["doctor", "--json"], "", parts);
      const { checks } = JSON.parse(stdout) as DoctorReport;
      return Object.fromEntries(checks.map(({ id, message }) => [id, message]));
    };
    await eventually(row);
    expect(await lines()).toMatchObject({
      "your-bell": expect.not.stringContaining("cracked"),
      "your-rope": "The rope is refused: [secret].",
      "your-tower": "It did not end in 0.3 s.",
      "your-clock": expect.stringContaining("returned something of type object"),
      "your-jobs": expect.stringMatching(/^The jobs of your service run; next \(UTC\): meter at 2/),
    });
    trouble = "The bell is cracked.";
    await world.forged.yourJobFailed({ attempts: 4, lastError: "no ladder" });
    await world.forged.yourJobFailsSince(3 * 3_600);
    const said = /^meter failed 4 times: no ladder\. It is tried again at \S+ \S+ \(in .*\)\.$/;
    expect(await lines()).toMatchObject({
      "your-bell": "The bell is cracked.",
      "your-jobs": expect.stringMatching(said),
    });
    expect(await read("/operator", basic("operator", OPERATOR_PASSWORD))).toContain("meter failed 4 times");
    await world.service.services.jobs.stop();
    await world.forged.yourJobWorks();
    await world.forged.yourJobWasCutOff({ attempts: 0, sinceSeconds: 3_600 });
    expect(await lines()).toMatchObject({ "your-jobs": "meter is due, and no process runs it." });
    await world.forged.nothingIsLeftOf("your_jobs");
    expect(await lines()).toMatchObject({ "your-jobs": expect.stringContaining("has planned meter yet") });
    await world.restart();
  });
});

describe("a job of the vendor's", () => {
  const makeDue = () => world.forged.yourJobIsDueIn(-3_600, "meter");

  it("waits for its time; one that was missed is made up for, once, and the next is planned", async () => {
    await eventually(row);
    expect(runs).toHaveLength(0);
    await makeDue();
    await eventually(async () => runs.length === 1 && ((await row())?.inMinutes ?? -1) > 0);
    expect(await row()).toMatchObject({ error: null, attempts: 0 });
    expect((await row())!.inMinutes).toBeLessThanOrEqual(24 * 60);
  });

  it("that fails is logged, counted and soon tried again; then it is as before", async () => {
    next.push(() => Promise.reject(new Error("the meter is stuck")));
    await makeDue();
    await eventually(async () => (await row())?.attempts === 1);
    expect(await row()).toMatchObject({ error: "the meter is stuck" });
    expect((await row())!.inMinutes).toBeLessThanOrEqual(1);
    expect(world.logged()).toContain('"job":"meter"');
    await makeDue();
    await eventually(async () => (await row())?.attempts === 0);
    expect(await row()).toMatchObject({ error: null });
    const count = (result: string) =>
      RegExp(`_duration_seconds_count\\{function="jobs.meter",result="${result}"\\} [1-9]`);
    await eventually(async () => {
      for (const result of ["failed", "done"]) expect(await scraped()).toMatch(count(result));
    });
  });

  it("that hangs, and listens or not, is given up after its time, with an alarm, and soon tried again", async () => {
    vendor.jobs![0]!.mostMinutes = 0.002;
    next.push((signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject("cut"))));
    next.push(() => new Promise(() => undefined));
    for (const attempts of [1, 2]) {
      await makeDue();
      const error = "The job has not ended after 0.002 minutes";
      await eventually(async () => expect(await row()).toMatchObject({ attempts, error }));
      expect(world.lines('"alarm":"job_hangs"')).toHaveLength(attempts);
    }
    delete vendor.jobs![0]!.mostMinutes;
    await makeDue();
    await eventually(async () => (await row())?.attempts === 0);
  });

  it("whose process died counts as failed, and is repeated later each time, as it may be what it died of", async () => {
    await world.service.services.jobs.stop();
    const claimed = async (attempts: number, minutes: number) => {
      await world.forged.yourJobWasCutOff({ attempts, sinceSeconds: minutes * 60 });
      const claim = { names: ["meter"], process: "worker test:1", claim: randomUUID(), by: null };
      return (await claimJobs(world.db, claim)).length;
    };
    expect(await claimed(0, 0)).toBe(1);
    const state = `SELECT attempts, last_error FROM your_jobs`;
    expect(await world.rows(state)).toEqual([
      {
        attempts: 1,
        last_error:
          "The process ended, or did not reach the database for a minute, before the job had ended.",
      },
    ]);
    expect([
      await claimed(3, 6),
      await claimed(3, 8),
      await claimed(2_000, 62),
      await claimed(2_000, 64),
    ]).toEqual([0, 1, 0, 1]);
    await world.forged.yourJobWorks();
    await world.restart();
    // It is due, so it runs once more: what comes next must not be what it meets.
    await eventually(async () => ((await row())?.inMinutes ?? -1) > 0);
  });

  it("is claimed once, however often its claim is sent again, until another process has taken it", async () => {
    await world.service.services.jobs.stop();
    await world.forged.yourJobWasCutOff({ attempts: 0, sinceSeconds: 60 });
    const sent = (claim: string) =>
      claimJobs(world.db, { names: ["meter"], process: "worker test:1", claim, by: null });
    const [one, other] = [randomUUID(), randomUUID()];
    await sent(one);
    await world.forged.yourJobLeaseIsOver(3_600);
    const [claimed, ...none] = await sent(other);
    expect([none, claimed!.hasDied]).toEqual([[], true]);
    await world.forged.yourJobLeaseIsOver(3_600);
    const again = await sent(other);
    expect(again).toEqual([{ ...claimed, now: again[0]!.now }]);
    expect([await sent(one), await sent(randomUUID())]).toEqual([[], []]);
    await world.forged.yourJobWorks();
    await world.restart();
    // It is due, so it runs once more: what comes next must not be what it meets.
    await eventually(async () => ((await row())?.inMinutes ?? -1) > 0);
  });

  describe("that fails again and again", () => {
    const alarms = () => world.lines('"alarm":"job_fails"', '"job":"meter"');
    const gauge = async () =>
      /^addon_your_jobs_failing\{function="jobs.meter"\} (\d)$/m.exec(await scraped())?.[1];
    const counted = async () =>
      Number(/^addon_alarms_total\{alarm="job_fails"\} (\d+)$/m.exec(await scraped())![1]);
    let before: number;
    beforeEach(async () => {
      await world.forged.yourJobWorks();
      before = alarms().length;
    });
    async function fails(attempts: number): Promise<number> {
      next.push(() => Promise.reject(new Error("no broker")));
      await makeDue();
      await eventually(async () => (await row())?.attempts === attempts);
      return alarms().length - before;
    }
    async function works(): Promise<void> {
      await makeDue();
      await eventually(async () => (await row())?.attempts === 0);
    }

    it("raises its alarm at the third failure and at each twelfth, and its end is logged", async () => {
      const first = await counted();
      expect([await fails(1), await gauge()]).toEqual([0, "0"]);
      expect([await fails(2), await fails(3), await fails(4)]).toEqual([0, 1, 1]);
      await eventually(async () => expect([await gauge(), await counted()]).toEqual(["1", first + 1]));
      expect(JSON.parse(alarms().at(-1)!)).toMatchObject({
        failures: 3,
        error: "no broker",
        since: expect.stringMatching(/^2/),
        nextTry: expect.stringMatching(/^2/),
      });
      await world.forged.yourJobFailed({ attempts: 10 });
      expect([await fails(11), await fails(12), await fails(13)]).toEqual([1, 2, 2]);
      await works();
      expect(world.lines('"Job of yours works again"', '"failures":13')).toHaveLength(1);
      await eventually(async () => expect(await gauge()).toBe("0"));
      expect([await fails(1), await fails(2), await fails(3)]).toEqual([2, 2, 3]);
      await works();
    });

    it("raises its alarm at the failure by which its next regular time has passed", async () => {
      expect(await fails(1)).toBe(0);
      await world.forged.yourJobIsOverdueSince(60);
      expect(await fails(2)).toBe(1);
      await eventually(async () => expect(await gauge()).toBe("1"));
      await works();
    });

    it("does not while failures and good runs alternate", async () => {
      for (const _ of [1, 2, 3, 4]) {
        expect(await fails(1)).toBe(0);
        await works();
      }
    });

    it("raises its alarm before it runs again if its process dies each time", async () => {
      await world.forged.yourJobWasCutOff({ attempts: 2, sinceSeconds: 3_600 });
      let seen = -1;
      next.push(async () => void (seen = alarms().length - before));
      await eventually(async () => (await row())?.attempts === 0);
      expect([seen, world.lines('"alarm":"job_fails"', "The process ended").length]).toEqual([1, 1]);
    });

    it("counts as failed when each stop cuts it off, once its next regular time has passed", async () => {
      const cutOff = async () => {
        const begun = runs.length + 1;
        next.push((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
        await makeDue();
        await eventually(() => runs.length === begun);
        await world.service.services.jobs.stop();
        await world.forged.yourJobIsDueIn(3_600);
        const found = await row();
        await world.restart();
        return [found?.attempts, found?.error, alarms().length - before];
      };
      const words = "The process stopped before the job had ended.";
      expect([await cutOff(), await cutOff()]).toEqual(Array(2).fill([0, words, 0]));
      await world.forged.yourJobIsOverdueSince(0);
      expect(await cutOff()).toEqual([1, words, 1]);
      await works();
    });

    it("fails, by the gauge, when no process has run it for five minutes, or has ever planned it", async () => {
      await world.service.services.jobs.stop();
      const late = (minutes: number) => world.forged.yourJobIsDueIn(-60 * minutes);
      await late(4);
      await eventually(async () => expect(await gauge()).toBe("0"));
      await late(6);
      await eventually(async () => expect(await gauge()).toBe("1"));
      await world.forged.nothingIsLeftOf("your_jobs");
      await eventually(async () => expect(await gauge()).toBe("0"));
      await world.forged.jobLastRan("run-your-jobs", 360);
      await eventually(async () => expect(await gauge()).toBe("1"));
      await world.restart();
      await eventually(row);
    });
  });

  it("that is cut off by a crash counts as failed", async () => {
    next.push((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
    await makeDue();
    await eventually(() => runs.length === 1);
    world.service.services.hasCrashed = true;
    await world.service.services.jobs.stop();
    expect(await row()).toMatchObject({ attempts: 1, error: "The process crashed." });
    await world.restart();
    await makeDue();
    await eventually(async () => (await row())?.attempts === 0);
  });

  it("is run by one process at a time, and told to end when that one stops; then another does it", async () => {
    next.push((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
    await makeDue();
    await eventually(() => runs.length === 1);
    await world.forged.yourJobIsDueIn(-3_600);
    const other = await openContext(teapotConfig(world.environment), { ...teapotParts, vendor });
    const jobs = createYourJobs(other, vendor.jobs!);
    expect(await jobs.runDue()).toBe(0);
    // After an outage: its process lives, and extends its lease before another claims it.
    await world.forged.yourJobLeaseIsOver(1);
    other.work.noteOutage();
    expect(await jobs.runDue()).toBe(0);
    await other.close();
    await world.restart();
    await eventually(async () => runs.length === 2 && (await row()) !== null);
    expect(runs[0]!.aborted).toBe(true);
  });
});

const never = async () => ({ later: "Never." });
const job = (name: string, at = "* * * * *") => ({ name, at, run: never });
const TIMES = "overlapMinutes of rotation must be at least 0, everyDays at least 1";
it.each<[string, Extensions, string]>([
  ["a job at no time of cron's", { jobs: [job("meter", "at three")] }, "at three"],
  ["a job on a day that never comes", { jobs: [job("meter", "0 0 1 * 1#2")] }, "at of the job meter must be"],
  [
    "a job on days of the month that are days of the week",
    { jobs: [job("meter", "0 0 1-7 * 1")] },
    "names days of the month and days of the week",
  ],
  [
    "a job in no time zone",
    { jobs: [{ ...job("meter"), timeZone: "Europe/Berln" }] },
    'must name a time zone, such as Europe/Berlin, and is "Europe/Berln"',
  ],
  [
    "a job of another kind",
    { jobs: [{ ...job("meter"), missed: "all" as never }] },
    "missed of the job meter must be one of once, each, skip",
  ],
  ["two jobs of one name", { jobs: [job("a"), job("a")] }, 'two jobs have the name "a"'],
  ["a metric that is named like the kit's", { metrics: { addon_due: { help: "Due" } } }, "addon_due"],
  ["a metric that is named like the scraper's", { metrics: { up: { help: "Up" } } }, "the metric up"],
  ["a metric whose name is none", { metrics: { "bell-rings": { help: "Rings" } } }, "Invalid metric name"],
  ["a metric without help", { metrics: { rings: { help: "" } } }, "help"],
  ["a label that Prometheus reserves", { metrics: { rings: { help: "x", labels: ["__name"] } } }, `"__name"`],
  ["a label of histograms", { metrics: { rings: { help: "x", labels: ["le"] } } }, `"le"`],
  ["a label that is none", { metrics: { rings: { help: "x", labels: ["a b"] } } }, "Invalid label name"],
  [
    "labels that are no list",
    { metrics: { rings: { help: "x", labels: "a" as never } } },
    "labels is no list",
  ],
  ["a check that is no function", { checks: { bell: null as never } }, "bell of checks must be a function"],
  [
    "a job without run",
    { jobs: [{ name: "a", at: "* * * * *" } as never] },
    "run of the job a must be a function",
  ],
  ["an action without run", { actions: { move: {} as never } }, "run of the action move must be"],
  [
    "a button without text",
    { operatorActions: { move: { run: never, effect: "x" } as never } },
    "label of the operator action move must be a text",
  ],
  ["a rotation at each moment", { rotation: { rotate: never, retire: never, everyDays: 0 } }, TIMES],
  ["a rotation in eternity", { rotation: { rotate: never, retire: never, everyDays: Infinity } }, TIMES],
  ["an overlap below zero", { rotation: { rotate: never, retire: never, overlapMinutes: -1 } }, TIMES],
])("%s keeps the service from starting, and says so", async (_what, brought, words) => {
  const parts = { ...teapotParts, vendor: Object.assign(aVendor(), brought) };
  await expect(openContext(teapotConfig(world.environment), parts)).rejects.toThrow(words);
});

it("a metric, a label or an action that is not declared does not compile, where the types are given the names", () => {
  type Declared = Record<"bells_total", { help: string; labels: readonly ["tower"] }>;
  const wrong = (typed: Kit<Declared>, { form }: CustomerTools<"move">) => {
    typed.count("bells_total", { tower: "north" });
    form("move", "");
    // @ts-expect-error: no such metric
    typed.count("bell_total");
    // @ts-expect-error: no such label
    typed.count("bells_total", { steeple: "north" });
    // @ts-expect-error: no such action
    form("mvoe", "");
  };
  const typedPage: CustomerPage<"move"> = (_resource, page) => (wrong(kit, page), { title: "", content: "" });
  // What is typed fits what the kit takes.
  const page: CustomerPage = typedPage;
  expect(page).toBeInstanceOf(Function);
});

// In a folder and a schema of their own.

describe("migrations of the vendor's own tables", () => {
  let yours: string;
  beforeAll(async () => {
    yours = await mkdtemp(path.join(tmpdir(), "yours-"));
  });
  afterAll(() => rm(yours, { recursive: true }));

  async function write(name: string, script: string): Promise<void> {
    await mkdir(path.join(yours, name), { recursive: true });
    await writeFile(path.join(yours, name, "migration.sql"), script);
  }
  const run = () => migrate({ url: world.environment["DATABASE_URL"]!, yours });
  const rows = (text: string) => world.rows(text);

  it("are applied after the kit's, once, and make tables of the schema yours beside the kit's of the same name", async () => {
    const name = "20270101000000_customer's_steps";
    await write(name, "CREATE TABLE steps (height int); INSERT INTO steps VALUES (17)");
    expect(await run()).toMatchObject({ applied: [`yours/${name}`] });
    expect(await run()).toMatchObject({ applied: [] });
    expect(await rows("SELECT height FROM yours.steps")).toEqual([{ height: 17 }]);
    await expect(rows("SELECT height FROM public.steps")).rejects.toThrow("height");
  });

  it("that fail midway leave nothing behind and are named; the corrected one is applied by the next run", async () => {
    const name = "20270102000000_halves";
    await write(name, "CREATE TABLE halves (part int); ALTER TABLE nowhere ADD COLUMN part int");
    await expect(run()).rejects.toThrow(
      `the migration yours/${name} failed: relation "nowhere" does not exist`,
    );
    expect(await rows("SELECT to_regclass('yours.halves')::text AS found")).toEqual([{ found: null }]);
    await write(name, "CREATE TABLE halves (part int)");
    expect(await run()).toMatchObject({ applied: [`yours/${name}`] });
    expect(await rows("SELECT * FROM yours.halves")).toEqual([]);
  });
});
