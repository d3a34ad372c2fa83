import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../../src/errors.ts";
import { openContext } from "../../src/open-context.ts";
import { refusalAnswer } from "../../src/resources/answers.ts";
import { changePlan } from "../../src/resources/change-plan.ts";
import { answerFirst } from "../../src/resources/store.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { databaseError, interleavings } from "../support/interleavings.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened, QUICK, UNHURRIED } from "../support/world.ts";

// Everything that can happen to a resource while something else happens to it. A row of the table is an interleaving:
// event A, with what the vendor's function makes of it; event B, at a moment of A; then the answers to both, the state
// in the end, and the calls of the vendor's functions. In the end nothing is left to do, and the platform has the config
// vars of the plan that is stored.

const { moments, reach, always, parts } = interleavings();
// The platform waits for 2.8 s; here it waits for less, or, where nothing is to be late, for longer.
const IMPATIENT = { vendorMs: 800, requestMs: 3_000 };
const PATIENT = { vendorMs: 30_000, requestMs: 8_000 };
const life = opened(() => aLifecycle({ parts: { ...parts, pace: { ...QUICK, ...IMPATIENT } } }));
const waits = (pace: typeof PATIENT) => Object.assign(life.world.service.services.pace, pace);
afterEach(() => {
  waits(IMPATIENT);
  moments.clear();
  life.vendor.asUsual();
  life.control.clearFaults();
});

/** The vendor's functions that were called for a resource. */
const callsOf = (uuid: string, since = 0) =>
  life.vendor.calls.slice(since).flatMap((call) => (call.uuid === uuid ? [call.what] : []));
const newest = () => life.control.state().addons.at(-1)!.id;
const status = async (sent: Promise<{ status: number }>) => (await sent).status;

/** Each answers the status of the answer. */
const EVENTS = {
  provision: async () => (await life.control.install({ plan: "basic" })).response.status!,
  "later provision": async () => (await life.control.install({ plan: "dedicated" })).response.status!,
  again: async (uuid: string) => (await life.control.redeliver(uuid)).response.status!,
  premium: (uuid: string) => status(life.platform.changePlan(uuid, { plan: "premium" })),
  dedicated: (uuid: string) => status(life.platform.changePlan(uuid, { plan: "dedicated" })),
  basic: (uuid: string) => status(life.platform.changePlan(uuid, { plan: "basic" })),
  deprovision: (uuid: string) => status(life.platform.deprovision(uuid)),
  // The platform has waited for long enough.
  time: () => sleep(800).then(() => 0),
  nothing: async () => 0,
};
type Event = keyof typeof EVENTS;

const OUTCOMES = {
  done: null,
  later: async () => ({ later: "Wait." }),
  refuses: () => Promise.reject(new Refusal("Too much tea in it.", { id: "too_full" })),
  fails: () => Promise.reject(new Error("The kiln is cold.")),
};
type Outcome = keyof typeof OUTCOMES;

type Row = [a: Event, outcome: Outcome, at: string, b: Event, answers: number[], end: string, calls: string];

/** `end`: state and plan. A call of a function is its first letter: Provision, Change plan, Finish, Deprovision. */
const TABLE: Row[] = [
  // A provision, while the vendor's function runs,
  ["provision", "done", "during provision", "again", [200, 200], "provisioned basic", "P"],
  ["provision", "refuses", "during provision", "again", [422, 422], "failed basic", "PD"],
  ["provision", "later", "during provision", "again", [202, 202], "provisioned basic", "PF"],
  ["provision", "fails", "during provision", "again", [202, 202], "provisioned basic", "PP"],
  ["provision", "done", "during provision", "premium", [200, 202], "provisioned premium", "PC"],
  ["provision", "refuses", "during provision", "premium", [422, 202], "failed basic", "PD"],
  ["provision", "done", "during provision", "deprovision", [410, 204], "deprovisioned basic", "PD"],
  ["provision", "done", "during provision", "time", [202, 0], "provisioned basic", "P"],
  ["provision", "refuses", "during provision", "time", [202, 0], "failed basic", "PD"],
  // before its result is stored,
  ["provision", "done", "before answer_provisions", "deprovision", [410, 204], "deprovisioned basic", "PD"],
  // and when that is stored, but not acknowledged.
  ["provision", "done", "unheard answer_provisions", "nothing", [200, 0], "provisioned basic", "P"],
  ["provision", "refuses", "unheard answer_provisions", "nothing", [422, 0], "failed basic", "PD"],
  ["provision", "done", "unheard answer_provisions", "deprovision", [410, 204], "deprovisioned basic", "PD"],
  // A provision that was put off.
  ["later provision", "done", "during finish", "again", [202, 202], "provisioned dedicated", "F"],
  ["later provision", "done", "during finish", "premium", [202, 202], "provisioned premium", "FC"],
  ["later provision", "done", "during finish", "deprovision", [202, 204], "deprovisioned dedicated", "FD"],
  ["later provision", "refuses", "during finish", "premium", [202, 202], "failed dedicated", "FD"],
  ["later provision", "done", "unheard settle_steps", "nothing", [202, 0], "provisioned dedicated", "F"],
  ["later provision", "done", "unheard settle_announced", "premium", [202, 200], "provisioned premium", "FC"],
  // A plan change.
  ["premium", "done", "during changePlan", "premium", [202, 200], "provisioned premium", "C"],
  ["premium", "done", "during changePlan", "dedicated", [202, 202], "provisioned dedicated", "CC"],
  ["premium", "done", "during changePlan", "basic", [202, 202], "provisioned basic", "CC"],
  ["premium", "refuses", "during changePlan", "dedicated", [202, 202], "provisioned dedicated", "CC"],
  ["premium", "refuses", "during changePlan", "nothing", [422, 0], "provisioned basic", "C"],
  ["premium", "later", "during changePlan", "nothing", [202, 0], "provisioned premium", "CF"],
  ["premium", "refuses", "during changePlan", "time", [202, 0], "provisioned basic", "C"],
  ["premium", "done", "during changePlan", "deprovision", [410, 204], "deprovisioned basic", "CD"],
  ["premium", "done", "unheard settle_steps", "nothing", [200, 0], "provisioned premium", "C"],
  ["premium", "done", "unheard write_plan_change", "nothing", [200, 0], "provisioned premium", "C"],
  ["premium", "fails", "unheard accept_plan", "nothing", [202, 0], "provisioned premium", "CC"],
  ["premium", "done", "before settle_steps", "deprovision", [410, 204], "deprovisioned basic", "CD"],
  // One whose result cannot be stored: what the platform was answered stays.
  ["premium", "done", "locked", "nothing", [202, 0], "provisioned premium", "C"],
  ["premium", "refuses", "locked", "nothing", [422, 0], "provisioned basic", "C"],
  // A deprovision.
  ["deprovision", "done", "deadlock lock_resource", "nothing", [204, 0], "deprovisioned basic", "D"],
  ["deprovision", "done", "unheard deprovision", "deprovision", [204, 410], "deprovisioned basic", "D"],
  ["deprovision", "fails", "during deprovision", "again", [204, 410], "deprovisioned basic", "DD"],
];

/** Answers that come because the platform can wait no longer: of a plan change behind another one, too. */
const isLate = (at: string, b: Event) =>
  b === "time" ||
  at === "locked" ||
  (at === "during changePlan" && ["premium", "dedicated", "basic"].includes(b));

it.each(TABLE)("%s (%s), %s: %s", async (a, outcome, at, b, answers, end, calls) => {
  if (!isLate(at, b)) waits(PATIENT);
  const isNew = ["provision", "later provision"].includes(a);
  let uuid = isNew ? "" : await life.settled();
  const before = life.vendor.calls.length;
  let second: Promise<number> = Promise.resolve(-1);
  const locked = at === "locked" ? ["before settle_steps", "before accept_plan"] : [];
  const unlock = locked.map((each) => always(each, () => Promise.reject(databaseError("55P03"))));
  moments.set(at === "locked" ? "during changePlan" : at, async () => {
    uuid ||= newest();
    // So much later, its own time is over: A is answered first, however busy the machine.
    if (isLate(at, b)) await sleep(400);
    second = EVENTS[b](uuid);
    // A repeated delivery waits for the answer to A itself.
    await Promise.race([second, sleep(b.startsWith("again") ? 200 : 20_000)]);
  });
  tell(a, outcome);
  // A change that is made again, and done before its answer is stored, is answered 200.
  const answered = aGate();
  if (a === "premium" && outcome === "fails") life.vendor.nextAfter("changePlan", answered.opened);
  if (a === "provision" && outcome === "fails") life.vendor.nextAfter("provision", answered.opened);

  const first = await EVENTS[a](uuid);
  answered.open();
  for (const each of unlock) each();
  uuid ||= newest();
  await eventually(() => expect(moments.size).toBe(0));
  expect([first, await second]).toEqual(answers);

  await eventually(async () => {
    await life.world.forged.stepsFellDue(uuid);
    await life.world.forged.newStepsAreFree(uuid);
    expect(await life.steps(uuid)).toEqual([]);
  });
  const { state, plan } = (await life.resource(uuid))!;
  expect(`${state} ${plan}`).toBe(end);
  if (state === "provisioned")
    expect(life.varsAt(uuid)["TEAPOT_URL"]).toBe(`https://${plan}.teapots.example/${uuid}`);
  const called = callsOf(uuid, before);
  expect(called.map((what) => what[0]!.toUpperCase()).join("")).toBe(calls);
});

/** What the first call of the vendor's function for an event does; its moment comes first. */
function tell(a: Event, outcome: Outcome): void {
  const instead = OUTCOMES[outcome];
  const FUNCTIONS = {
    provision: "provision",
    "later provision": "finish",
    deprovision: "deprovision",
  } as const;
  const what = a in FUNCTIONS ? FUNCTIONS[a as keyof typeof FUNCTIONS] : "changePlan";
  life.vendor.next(what, async (...given: never[]) => {
    await reach(`during ${what}`);
    return instead ? instead() : (teapots[what] as (...given: never[]) => Promise<never>)(...given);
  });
}

it("a plan change that is refused raises an alarm only if the platform was answered yes", async () => {
  const alarmsOf = (uuid: string) => life.world.lines('"alarm":"plan_change_refused"', uuid);
  const body = { id: "too_full", message: "Too much tea in it." };
  for (const { wait, answer, alarms } of [
    { wait: 0, answer: { status: 422, body }, alarms: 0 },
    { wait: 1_200, answer: { status: 202 }, alarms: 1 },
  ]) {
    const uuid = await life.settled();
    waits(wait === 0 ? PATIENT : IMPATIENT);
    life.vendor.next("changePlan", () => sleep(wait).then(OUTCOMES.refuses));
    expect(await life.platform.changePlan(uuid, { plan: "premium" })).toMatchObject(answer);
    await life.nothingLeft(uuid);
    expect(alarmsOf(uuid)).toHaveLength(alarms);
  }
});

it("a provision that a process refuses which was taken for dead, while another creates it, is cleaned up afterwards", async () => {
  const uuid = randomUUID();
  const answer = refusalAnswer(new Refusal("Sold out."));
  let next: unknown;
  moments.set("during provision", async () => {
    const first = { uuid, lease: 1, config: null, answer, next: "clean_up" } as const;
    expect(await answerFirst(life.world.service.services, first)).toBe(true);
    next = await life.world.rows(`SELECT kind, leased_until > now() AS waits FROM steps WHERE uuid = $1`, [
      uuid,
    ]);
  });
  tell("provision", "done");
  await life.world.rows(
    `WITH made AS (INSERT INTO resources (uuid, plan, applied_plan) VALUES ($1, 'basic', 'basic')),
       without AS (INSERT INTO credentials (uuid, state) VALUES ($1, 'no_grant'))
     INSERT INTO steps (uuid, kind, due_at, attempts, lease, leased_until, created_at)
     VALUES ($1, 'provision', now(), 1, 1, now(), now() - interval '1 minute')`,
    [uuid],
  );
  await eventually(() => expect(next).toEqual([{ kind: "clean_up", waits: true }]));
  // Once: if it ran by then, it would be run again.
  await life.hurry(uuid);
  await life.nothingLeft(uuid);
  expect(callsOf(uuid)).toEqual(["provision", "deprovision"]);
});

it.each([
  ["provision", "after provision"],
  ["premium", "committed write_plan_change"],
] as const)(
  "a process that stood still after it had stored a %s makes nothing once that was ended",
  async (event, at) => {
    const { now } = Date;
    let uuid = event === "provision" ? "" : await life.settled();
    const before = life.vendor.calls.length;
    moments.set(at, async () => {
      uuid ||= newest();
      // Another process takes it up and makes it, and it is deprovisioned.
      await life.hurry(uuid);
      await life.nothingLeft(uuid);
      expect(await EVENTS.deprovision(uuid)).toBe(204);
      await life.nothingLeft(uuid);
      Date.now = () => now() + 60_000;
    });
    waits(PATIENT);
    expect(await EVENTS[event](uuid).finally(() => (Date.now = now))).toBe(410);
    expect(callsOf(uuid, before)).toEqual([event === "provision" ? event : "changePlan", "deprovision"]);
  },
);

it("a new code that arrives while its provision is being made is exchanged once that is answered", async () => {
  let second: Promise<unknown> = Promise.resolve();
  moments.set("during provision", async () => {
    const uuid = newest();
    second = life.control.redeliver(uuid, { newCode: true });
    const grant = `SELECT grant_number AS number, due_at FROM credentials WHERE uuid = $1`;
    await eventually(async () =>
      expect(await life.world.rows(grant, [uuid])).toEqual([{ number: 2, due_at: null }]),
    );
  });
  tell("provision", "done");
  waits(PATIENT);
  expect(await EVENTS.provision()).toBeLessThan(300);
  await second;
  await life.becomes(newest(), { state: "active", generation: 1 });
  const { code } = life.requestFor(newest()).oauth_grant;
  expect(life.exchangesOf(code).map(({ response }) => response?.status)).toEqual([200]);
});

it("steps that a process wrote that did not see the end of their resource are dropped", async () => {
  const uuid = await life.settled();
  await life.control.deprovision(uuid);
  await life.world.forged.aStepIsLeft({ uuid, kind: "change_plan" });
  await eventually(async () => {
    await life.world.forged.newStepsAreFree(uuid);
    expect(await life.steps(uuid)).toEqual([]);
  });
  expect(callsOf(uuid)).toEqual(["provision", "deprovision"]);
});

it("of two plan changes by two processes, the one that is answered last is the plan in the end", async () => {
  waits(PATIENT);
  const request = aProvisionRequest({ oauth_grant: null });
  expect(await status(life.platform.provision(request))).toBe(200);
  const other = await openContext(teapotConfig(life.world.environment), {
    ...teapotParts,
    pace: UNHURRIED,
    logTo: { write: () => undefined },
  });
  moments.set("unheard settle_steps", async () =>
    expect((await changePlan(other, request.uuid, "premium", "another-request")).status).toBe(200),
  );
  expect(await EVENTS.dedicated(request.uuid)).toBe(200);
  await other.close();
  expect(await life.resource(request.uuid)).toMatchObject({ plan: "dedicated" });
});
