import type { Extensions } from "../../src/extend/contract.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import type { Report } from "../../src/operator/work-through.ts";
import type { ResourceApi } from "../../src/platform/api.ts";
import type { VendorResource, YourService } from "../../src/resources/contract.ts";
import { operator as scraper } from "../metrics/operator.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import type { Vendor } from "../support/a-vendor.ts";
import { ALL } from "../support/forged.ts";
import { kit, kitJson } from "../support/kit.ts";
import { saidTwice } from "../support/said-twice.ts";
import { eventually, opened, QUICK } from "../support/world.ts";
import { aWorldOfAnOperator, hiddenIn } from "./pages/operator.ts";

// Calls of the vendor's functions that hang or fail: how they are seen, and what an operator does to them.

const operator = opened(() => aWorldOfAnOperator({ parts: { pace: { ...QUICK, vendorMs: 300 } } }));
beforeEach(() => operator.life.vendor.asUsual());
afterEach(() => operator.control.clearFaults());

type What = "provision" | "finish" | "changePlan" | "deprovision";

const hang = () => new Promise<never>(() => undefined);
const fail = () => Promise.reject<never>(new Error("The kiln is cold."));
const calls = (uuid: string, what: What) => operator.life.vendor.callsOf(uuid, what).length;

/** Work of a function on a new resource, whose first calls of it do this. */
async function begin(
  what: What,
  instead: YourService["deprovision"] & typeof hang,
  times = 1,
): Promise<string> {
  const { life, control } = operator;
  const ready = what === "changePlan" || what === "deprovision" ? await life.settled() : null;
  for (let call = 0; call < times; call++) life.vendor.next(what, instead);
  if (what === "changePlan") await control.changePlan(ready!, "premium");
  if (what === "deprovision") await control.deprovision(ready!);
  const uuid = ready ?? (await control.install({ plan: what === "finish" ? "dedicated" : "basic" })).addon.id;
  await eventually(async () => expect(await life.steps(uuid)).toContainEqual(expect.anything()));
  await eventually(() => expect(calls(uuid, what)).toBeGreaterThan(0));
  return uuid;
}

/** Fails, and is then due in an hour. */
async function beginFailing(what: What): Promise<string> {
  const uuid = await begin(what, fail, 30);
  await eventually(async () => {
    expect(await operator.world.forged.failedStepsAreDueIn(uuid, 3_600)).toHaveLength(1);
  });
  operator.life.vendor.asUsual();
  return uuid;
}

/** Gives one resource's work, or all, an operator's hand; returns of how many resources it took. */
async function act(verb: string, uuid: string): Promise<number> {
  const words = [uuid === "all" ? "--all" : uuid, ...(verb === "give-up" ? ["--yes"] : [])];
  return (await kitJson<Report>(operator.world.environment, ["steps", verb, ...words])).data.done.length;
}

const gone = (uuid: string) => eventually(async () => expect(await operator.life.steps(uuid)).toEqual([]));

it("work that waits after an error is tried again at once", async () => {
  const uuid = await beginFailing("provision");
  const made = calls(uuid, "provision");
  expect(await act("retry", uuid)).toBe(1);
  await gone(uuid);
  expect(calls(uuid, "provision")).toBe(made + 1);
  expect(await operator.life.events(uuid)).toContain("step_retried");
  expect(await act("retry", uuid)).toBe(0);
});

it.each<What>(["provision", "deprovision"])("%s that hangs is cut off and called again", async (what) => {
  let signal!: AbortSignal;
  let wasAborted: boolean | undefined;
  const uuid = await begin(what, (resource?: VendorResource) => ((signal = resource!.signal), hang()));
  operator.life.vendor.next(what, () => ((wasAborted = signal.aborted), fail()));
  expect(await act("cut-off", uuid)).toBe(1);
  // No other call is made until the first must have noticed: here that is later.
  await operator.world.forged.cutOffStepsAreHeldFor(uuid, 3_600);
  await eventually(() => expect(signal.aborted).toBe(true));
  await operator.life.hurry(uuid);
  await eventually(() => expect(calls(uuid, what)).toBe(3));
  expect(wasAborted).toBe(true);
  await gone(uuid);
  expect(await operator.life.events(uuid)).toContain("step_cut_off");
});

it.each<[What, object, string[]]>([
  ["provision", { state: "failed" }, ["step_given_up", "failed"]],
  ["finish", { state: "failed" }, ["step_given_up", "failed"]],
  ["changePlan", { state: "provisioned", plan: "basic" }, ["step_given_up", "plan_change_refused"]],
  ["deprovision", { state: "deprovisioned" }, ["step_given_up"]],
])("%s is given up for good, whether it fails or hangs", async (what, becomes, events) => {
  const { life } = operator;
  const [failing, hanging] = [await beginFailing(what), await begin(what, hang)];
  for (const uuid of [failing, hanging]) {
    const made = calls(uuid, what);
    expect(await act("give-up", uuid)).toBe(1);
    // What follows does not wait until the call that hangs has noticed.
    if (uuid === hanging) await life.hurry(uuid);
    await gone(uuid);
    expect(await life.resource(uuid)).toMatchObject(becomes);
    expect((await life.events(uuid)).filter((type) => /given|failed|refused/.test(type))).toEqual(events);
    // What was made is taken down.
    const isFailed = events.includes("failed");
    expect([calls(uuid, what), calls(uuid, "deprovision")]).toEqual([
      made,
      isFailed ? 1 : what === "deprovision" ? made : 0,
    ]);
    expect(await act("give-up", uuid)).toBe(0);
  }
});

it("all are tried, cut off and given up", async () => {
  const failing = [await beginFailing("finish"), await beginFailing("deprovision")];
  expect(await act("retry", "all")).toBe(2);
  for (const uuid of failing) await gone(uuid);
  const hanging = [await begin("finish", hang), await begin("deprovision", hang)];
  const { environment } = operator.world;
  expect((await kit(environment, ["steps", "retry", "--all"])).stdout).toBe(
    "! 2 resources with a call under way left alone: kit steps cut-off --all takes them, too.\n0 due now, 0 failed, 0 skipped.\n",
  );
  expect((await kitJson<Report>(environment, ["steps", "retry", hanging[0]!])).data).toMatchObject({
    done: [],
    skipped: [{ uuid: hanging[0], reason: "under_way" }],
  });
  expect(await act("cut-off", "all")).toBe(2);
  for (const uuid of hanging) {
    await operator.life.hurry(uuid);
    await gone(uuid);
  }
  const [late, young] = [await begin("deprovision", hang), await begin("deprovision", hang)];
  await operator.world.forged.stepsAreLateBy(late, 120);
  expect(await act("give-up", "all")).toBe(1);
  await gone(late);
  expect(await operator.life.steps(young)).toEqual(["clean_up"]);
  expect(await act("give-up", young)).toBe(1);
  await gone(young);
});

it("a provision that was not answered is given up with the refusal as its answer", async () => {
  const { life, world } = operator;
  await world.restart({ parts: { pace: { ...QUICK, vendorMs: 15_000 } } });
  life.vendor.next("provision", hang);
  const request = aProvisionRequest({ plan: "basic" });
  const answer = life.platform.provision(request);
  await eventually(() => expect(calls(request.uuid, "provision")).toBe(1));
  expect(await act("give-up", request.uuid)).toBe(1);
  expect((await answer).status).toBe(422);
  expect((await life.platform.provision(request)).status).toBe(422);
  await life.hurry(request.uuid);
  await gone(request.uuid);
  expect([calls(request.uuid, "provision"), calls(request.uuid, "deprovision")]).toEqual([1, 1]);
});

it("a rotation is dropped as if it were refused, and old credentials that were to end are left", async () => {
  const { life, world } = operator;
  const vendor: Vendor & Extensions = life.vendor;
  vendor.rotation = { rotate: hang, retire: hang };
  const uuid = await life.settled();
  const leased = `SELECT kind FROM steps WHERE uuid = $1 AND leased_until > now()`;
  const underWay = (kind: string) =>
    eventually(async () => expect(await world.rows(leased, [uuid])).toEqual([{ kind }]));
  await operator.done(`/resources/${uuid}/rotate`);
  await underWay("rotate");
  expect(await act("cut-off", uuid)).toBe(1);
  await life.hurry(uuid);
  await underWay("rotate");
  expect(await act("give-up", uuid)).toBe(1);
  await gone(uuid);
  await world.forged.aStepIsLeft({ uuid, kind: "retire", detail: { retires: 1 } });
  await underWay("retire");
  expect(await act("give-up", uuid)).toBe(1);
  await gone(uuid);
  const events = (await life.events(uuid)).filter((type) => /step|rotat|retire/.test(type));
  expect(events.join()).toBe("rotation_asked,step_cut_off,step_given_up,rotation_refused,step_given_up");
});

describe("what waits behind work that is given up goes on", () => {
  const givenUp = (uuid: string) =>
    operator.world.rows(`SELECT detail FROM events WHERE uuid = $1 AND type = 'step_given_up'`, [uuid]);
  /** Late, as what waits behind other work may be; that alone is no trouble of its own. */
  const isLate = (uuid: string) => operator.world.forged.dueStepsAreLateBy(uuid, 120);

  it("a rotation, behind a plan change that fails, of which the platform must be told otherwise", async () => {
    const { life, world } = operator;
    let rotated = 0;
    const vendor: Vendor & Extensions = life.vendor;
    const rotate = async () => ((rotated += 1), { config: { TEAPOT_TOKEN: "new" }, retires: null });
    vendor.rotation = { rotate, retire: hang };
    const uuid = await beginFailing("changePlan");
    await operator.done(`/resources/${uuid}/rotate`);
    await isLate(uuid);
    // Not more than the operator was asked about.
    const asked = await operator.get("/give-up-all");
    expect(asked.text).toContain("1 resource, as of now.");
    const other = await life.settled();
    const call = { uuid: other, kind: "clean_up", inSeconds: -3_600, attempts: 1, leaseSeconds: 3_600 };
    await world.forged.aStepIsLeft(call);
    const { location } = await operator.post("/give-up-all", hiddenIn(asked.html));
    await eventually(async () =>
      expect((await operator.get(location!.replace("/operator", ""))).text).toContain(
        "you were asked about 1.",
      ),
    );
    await world.rows(`DELETE FROM steps WHERE uuid = $1`, [other]);
    // By the page: the log of a command is another one.
    expect((await operator.done("/give-up-all")).text).toContain("1 given up,");
    await life.hurry(uuid);
    await eventually(() => expect(rotated).toBe(1));
    expect(await givenUp(uuid)).toEqual([{ detail: { step: "change_plan" } }]);
    expect(world.lines(uuid, `"alarm":"plan_change_refused"`)).toHaveLength(1);
    expect(await life.steps(uuid)).not.toContain("change_plan");
  });

  it.each(["one", "all"])("a plan change, behind a rotation that hangs: %s", async (which) => {
    const { life, world, control } = operator;
    let rotated = 0;
    const vendor: Vendor & Extensions = life.vendor;
    vendor.rotation = { rotate: () => ((rotated += 1), hang()), retire: hang };
    const uuid = await life.settled();
    await operator.done(`/resources/${uuid}/rotate`);
    await eventually(() => expect(rotated).toBe(1));
    expect((await control.changePlan(uuid, "premium")).response.status).toBe(202);
    await isLate(uuid);
    expect(await act("give-up", which === "all" ? "all" : uuid)).toBe(1);
    // Until the call that hung must have noticed, nothing else is begun.
    const since = `(SELECT max(at) FROM events WHERE uuid = $1 AND type = 'step_given_up')`;
    const waited = `SELECT kind FROM steps WHERE uuid = $1 AND due_at >= ${since} + interval '5 seconds'`;
    expect(await world.rows(waited, [uuid])).toEqual([{ kind: "change_plan" }]);
    await life.hurry(uuid);
    await life.resourceBecomes(uuid, { plan: "premium" });
    expect(await givenUp(uuid)).toEqual([{ detail: { step: "rotate" } }]);
    await gone(uuid);
  });
});

it("work that only waits is not hastened, and a script that does not say --yes gives nothing up", async () => {
  const uuid = await operator.life.settled();
  await operator.world.forged.aStepIsLeft({ uuid, kind: "clean_up", inSeconds: 7_200 });
  for (const verb of ["retry", "cut-off"]) {
    const { data } = await kitJson<Report>(operator.world.environment, ["steps", verb, uuid]);
    expect(data).toMatchObject({ done: [], skipped: [{ uuid, reason: expect.stringMatching(/^nothing_/) }] });
  }
  const refused = await kit(operator.world.environment, ["steps", "give-up", uuid]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --yes") });
  await operator.world.forged.nothingIsLeftOf("steps");
});

describe("calls that hang or fail are seen at once, as warnings, before an alert rings", () => {
  const looked = async () => {
    const { code, data } = await kitJson<DoctorReport>(operator.world.environment, ["doctor"]);
    expect(saidTwice(data)).toEqual([]);
    return { code, ...data.checks.find(({ id }) => id === "your-service")! };
  };
  beforeAll(() => operator.world.restart());
  beforeEach(() => operator.world.forged.nothingIsLeftOf("steps"));
  afterEach(() => operator.world.forged.nothingIsLeftOf("steps"));

  it.each<[What, string]>([
    ["provision", "basic"],
    ["finish", "dedicated"],
    ["changePlan", "premium"],
    ["deprovision", "basic"],
  ])(
    "%s that failed once: how many, since when, which plan, the error and the resources by name",
    async (what, plan) => {
      const uuid = await beginFailing(what);
      const { code, ok, message, fix, whom } = await looked();
      expect([code, ok, message]).toEqual([
        0,
        true,
        expect.stringMatching(
          `^${what}\\(\\) fails: of 1 resource the last call failed\\. The last error: The kiln is cold\\. Plan: ${plan}\\.$`,
        ),
      ]);
      expect(fix).toContain("kit steps retry --all");
      const [named] = whom!.some!;
      expect(named).toMatchObject({ uuid, plan: what === "changePlan" ? "basic" : plan });
      expect(whom!.list).toEqual({ failing: expect.any(String) });
      // The same words, whom and the list of exactly these on the pages.
      const list = new URLSearchParams(whom!.list).toString().replace("&", "&amp;");
      for (const path of ["", "/check-up"])
        await eventually(async () => {
          const { text, html } = await operator.get(path);
          expect(text).toMatch(/right now Your service fails since/);
          expect(text).toContain(`${what}() fails: of 1 resource the last call failed`);
          expect(html).toContain(`href="/operator/resources/${uuid}"><bdi>${named!.name ?? uuid}</bdi>`);
          expect(html).toContain(`href="/operator/resources?${list}"`);
        });
      const { stdout } = await kit(operator.world.environment, ["doctor"]);
      expect(stdout).toMatch(new RegExp(`[(]${named!.plan}(, app [^ ]+)?[)] ${uuid}`));
    },
  );

  it("a provision that hangs, of which the first five resources are named; not one that has just begun", async () => {
    const hanging = await Promise.all(Array.from({ length: 6 }, () => begin("provision", hang)));
    const since = (seconds: number) => operator.world.forged.stepsAreLateBy(ALL, seconds);
    // However long the check-up takes.
    await since(-60);
    expect(await looked()).toMatchObject({ ok: true, fix: null });
    await since(80);
    const { code, ok, message, whom } = await looked();
    const words = "provision() hangs, or is too slow: 6 calls under way. Plan: basic.";
    expect([code, ok, message]).toEqual([0, true, words]);
    expect([whom!.count, whom!.some!.length]).toEqual([6, 5]);
    expect((await operator.get()).text).toContain(
      "and 1 more kit resources list --failing hanging Fix your backend",
    );
    expect(await act("give-up", "all")).toBe(6);
    for (const uuid of hanging) await operator.life.hurry(uuid);
    for (const uuid of hanging) await gone(uuid);
  });
});

describe("calls that hang or fail are seen", () => {
  const SINCE = `SELECT last_error, detail->>'dueSince' AS since FROM steps WHERE uuid = $1`;
  const series = async (name: string, what: What) =>
    (await scraper(operator.world).samples()).get(`addon_your_service_${name}{function="${what}"}`);
  const check = async () => {
    const { data } = await kitJson<DoctorReport>(operator.world.environment, ["doctor"]);
    return data.checks.find(({ id }) => id === "your-service")!;
  };

  it("in /metrics, by kit doctor and on the overview", async () => {
    expect(await check()).toMatchObject({ ok: true, fix: null });
    const hanging = await begin("finish", hang);
    const failing = await beginFailing("deprovision");
    await eventually(async () => {
      const both = async (what: What) => [await series("under_way", what), await series("failing", what)];
      expect([await both("finish"), await both("deprovision")]).toEqual([[1, 0], [0, 1]]); // prettier-ignore
      expect(await series("oldest_seconds", "provision")).toBe(0);
    });
    await operator.world.forged.stepsAreLateBy(hanging, 600);
    await operator.world.forged.stepsFailSince(failing, 240);
    await eventually(async () =>
      expect(await series("oldest_seconds", "finish")).toBeGreaterThanOrEqual(600),
    );
    expect(await series("oldest_seconds", "deprovision")).toBeGreaterThanOrEqual(240);
    const { ok, found, fix } = await check();
    expect(ok).toBe(false);
    const minutesOf = Object.fromEntries(
      found!.map(({ message, since }) => [
        message.split(".")[0],
        Math.round((Date.now() - Date.parse(since!)) / 60_000),
      ]),
    );
    expect(minutesOf).toEqual({
      "finish() hangs, or is too slow: 1 call under way": 10,
      "deprovision() fails: of 1 resource the last call failed": 4,
    });
    expect(fix).toContain("kit steps cut-off --all");
    await eventually(async () => expect((await operator.get()).html).toContain('href="/operator/retry-all"'));
    expect((await operator.get(`/resources/${failing}`)).html).toContain(`/resources/${failing}/give-up"`);
    expect((await operator.done(`/resources/${hanging}/give-up`)).text).toContain("1 given up,");
  });

  it("but not when the platform is at fault: then nothing is said of the function, nor given up with --all", async () => {
    await operator.world.forged.nothingIsLeftOf("steps");
    operator.control.fault("GET /addons/*", { status: 403, body: { id: "forbidden", message: "no" } }, 1_000);
    const uuid = await begin(
      "finish",
      ((_: VendorResource, platform: ResourceApi) => platform.addons.own()) as never,
      30,
    );
    const words = `SELECT last_error AS words FROM steps WHERE uuid = $1 AND kind = 'finish'`;
    await eventually(async () =>
      expect(await operator.world.rows(words, [uuid])).toMatchObject([
        { words: expect.stringContaining("403") },
      ]),
    );
    await eventually(async () => expect(await series("failing", "finish")).toBe(0));
    expect(await check()).toMatchObject({ ok: true });
    expect(await act("give-up", "all")).toBe(0);
    operator.control.clearFaults();
    operator.life.vendor.asUsual();
    await operator.life.hurry(uuid);
    await gone(uuid);
  });

  it("as late from when they first failed, and not while they say later", async () => {
    await operator.world.forged.nothingIsLeftOf("steps");
    const uuid = await beginFailing("finish");
    const since = await eventually(
      async () => (await operator.world.rows<{ since: string | null }>(SINCE, [uuid]))[0]?.since ?? null,
    );
    const made = calls(uuid, "finish");
    operator.life.vendor.next("finish", fail);
    operator.life.vendor.next("finish", async () => ({ later: "It cools.", againInSeconds: 3_600 }));
    await operator.life.hurry(uuid);
    await eventually(() => expect(calls(uuid, "finish")).toBe(made + 2));
    await eventually(async () =>
      expect(await operator.world.rows(SINCE, [uuid])).toEqual([{ last_error: null, since }]),
    );
    await eventually(async () => expect(await series("oldest_seconds", "finish")).toBe(0));
  });
});
