import { Refusal } from "../../src/errors.ts";
import type { Extensions, Kit, KitResource, ResourceFilter } from "../../src/extend/contract.ts";
import { requestSuspension } from "../../src/extend/suspension.ts";
import type { VendorResource } from "../../src/resources/contract.ts";
import { aGate, aVendor, type Vendor } from "../support/a-vendor.ts";
import { interleavings } from "../support/interleavings.ts";
import { kit as command } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// A vendor's service that can suspend: which of its teapots are cold, and what its functions were called with.

const vendor: Vendor & Extensions = aVendor();
const cold = new Set<string>();
type What = "suspend" | "resume" | "changePlan" | "rotate";
const called: {
  what: What;
  uuid: string;
  key: string;
  suspended: VendorResource["suspended"];
  reason: string;
}[] = [];
type Outcome = Awaited<ReturnType<NonNullable<Extensions["suspend"]>>>;
/** What the next calls do before they work, and return instead, if it is something. */
const first: Record<"suspend" | "resume", (() => Outcome | Promise<Outcome>)[]> = { suspend: [], resume: [] };

async function act(what: "suspend" | "resume", resource: VendorResource, reason = ""): Promise<Outcome> {
  note(what, resource, reason);
  const instead = await first[what].shift()?.();
  if (instead && "later" in instead) return instead;
  if (what === "suspend") cold.add(resource.uuid);
  else cold.delete(resource.uuid);
  return instead;
}
const note = (what: What, { uuid, idempotencyKey: key, suspended }: VendorResource, reason = "") =>
  void called.push({ what, uuid, key, suspended, reason });
/** A teapot that is changed is warm. */
const configOf = ({ uuid, plan }: VendorResource) => (
  cold.delete(uuid),
  { TEAPOT_URL: `https://${plan}.example`, TEAPOT_TOKEN: "changed" }
);

const FUNCTIONS: Extensions = {
  suspend: (resource, reason) => act("suspend", resource, reason),
  resume: (resource) => act("resume", resource),
  rotation: {
    async rotate(resource) {
      note("rotate", resource);
      return { config: configOf(resource), retires: "old" };
    },
    retire: () => Promise.resolve(),
  },
};

const { moments, parts } = interleavings();
let kit: Kit;
let uuid: string;
const life = opened(() => {
  const make = (given: Kit) => ((kit = given), Object.assign(vendor, FUNCTIONS));
  return aLifecycle({ parts: { ...parts, vendor: make } });
});
beforeEach(async () => {
  first.suspend.length = first.resume.length = called.length = 0;
  uuid = await life.settled();
});
afterEach(() => {
  vendor.asUsual();
  life.control.clearFaults();
});

const UNPAID = "The bill of October is not paid.";
const callsOf = (...what: What[]) => called.filter((call) => call.uuid === uuid && what.includes(call.what));
const found = async () => (await kit.resources.find(uuid))!;
const STORY = /suspen|resum|plan_changed|rotated|config_changed|deprov/;
const events = async () => (await life.events(uuid)).filter((type) => STORY.test(type));
const nothingLeft = () =>
  eventually(async () => {
    await life.world.forged.stepsFellDue(uuid);
    expect(await life.steps(uuid)).toEqual([]);
  });
async function suspended(reason = UNPAID): Promise<void> {
  expect(await kit.suspend(uuid, reason)).toBe("asked");
  await nothingLeft();
  expect(await found()).toMatchObject({ suspended: { reason } });
}
const changePlan = async (plan: string) => (await life.control.changePlan(uuid, plan)).response.status;
async function listed(filter: ResourceFilter): Promise<KitResource[]> {
  const all: KitResource[] = [];
  for await (const each of kit.resources.list(filter)) all.push(each);
  return all;
}

describe("a suspension", () => {
  it("is made by the service, shown with its reason, and ended; tokens are refreshed meanwhile", async () => {
    expect(await found()).toMatchObject({ suspended: null });
    expect(await kit.suspend(uuid.toUpperCase(), ` ${UNPAID}\n`)).toBe("asked");
    await life.nothingLeft(uuid);
    expect(callsOf("suspend")).toMatchObject([{ reason: UNPAID, suspended: null }]);
    expect(cold.has(uuid)).toBe(true);
    const [{ age }] = (await life.world.rows<{ age: number }>(
      `SELECT extract(epoch FROM now() - suspended_at)::float8 AS age FROM resources WHERE uuid = $1`,
      [uuid],
    )) as [{ age: number }];
    expect(age).toBeLessThan(60);
    expect(await found()).toMatchObject({
      state: "provisioned",
      suspended: { since: expect.any(Date), reason: UNPAID },
    });
    expect(await listed({ suspended: true })).toMatchObject([{ uuid }]);
    expect((await listed({ suspended: false })).map((each) => each.uuid)).not.toContain(uuid);

    const { generation } = (await life.credential(uuid))!;
    await life.world.forged.tokensFellDue(uuid);
    await eventually(async () =>
      expect(await life.credential(uuid)).toMatchObject({ state: "active", generation: generation + 1 }),
    );

    expect(await kit.resume(uuid)).toBe("asked");
    await life.nothingLeft(uuid);
    expect(cold.has(uuid)).toBe(false);
    expect(callsOf("resume")).toMatchObject([{ suspended: { reason: UNPAID } }]);
    expect(await found()).toMatchObject({ suspended: null });
    expect(await kit.resume(uuid)).toBe("not_suspended");
    expect(await events()).toEqual(["suspension_asked", "suspended", "resume_asked", "resumed"]);
  });

  it("sets the config vars that the function returns, and no others", async () => {
    const before = life.varsAt(uuid);
    first.suspend.push(() => ({ config: { TEAPOT_URL: "https://cold.example" } }));
    await suspended();
    await eventually(() => expect(life.varsAt(uuid)).toEqual({ TEAPOT_URL: "https://cold.example" }));
    first.resume.push(() => ({ config: before as Record<string, string> }));
    await kit.resume(uuid);
    await eventually(() => expect(life.varsAt(uuid)).toEqual(before));
    await nothingLeft();
    const changes = await life.world.rows(
      `SELECT detail->'names' AS names FROM events WHERE uuid = $1 AND type = 'config_changed'`,
      [uuid],
    );
    expect(changes).toEqual(Array(2).fill({ names: ["TEAPOT_URL", "TEAPOT_TOKEN"] }));
  });

  it("that fails is tried again with the same key, and so is one that takes longer", async () => {
    first.suspend.push(
      () => Promise.reject(new Error("The stove does not answer.")),
      () => ({ later: "The stove is cooling down." }),
    );
    await suspended();
    expect(callsOf("suspend")).toHaveLength(3);
    expect(new Set(callsOf("suspend").map(({ key }) => key)).size).toBe(1);
    expect(life.world.lines(uuid, "The stove does not answer.")).not.toEqual([]);
  });

  it.each<[string, () => Outcome, string]>([
    ["whose config has a var that is not on offer", () => ({ config: { OTHER: "x" } as never }), "OTHER"],
    ["that returns something else", () => ({ cold: true }) as never, "config as a plain object"],
  ])("%s reaches no app, and is tried again", async (_what, outcome, words) => {
    first.suspend.push(outcome);
    await suspended();
    expect(life.world.lines(uuid, words)).not.toEqual([]);
    expect(life.varsAt(uuid)).not.toHaveProperty("OTHER");
  });

  it("that the service refuses leaves the resource as it was", async () => {
    const refuse = () => {
      throw new Refusal("A teapot on fire is not put out.");
    };
    first.suspend.push(refuse);
    await kit.suspend(uuid, UNPAID);
    await life.nothingLeft(uuid);
    expect(await found()).toMatchObject({ suspended: null });
    await suspended();
    first.resume.push(refuse);
    await kit.resume(uuid);
    await life.nothingLeft(uuid);
    expect(await found()).toMatchObject({ suspended: { reason: UNPAID } });
    expect(await events()).toEqual([
      ...["suspension_asked", "suspension_refused", "suspension_asked", "suspended"],
      ...["resume_asked", "resume_refused"],
    ]);
  });

  it("that is requested again changes its reason alone, also before it is made", async () => {
    const gate = aGate();
    first.suspend.push(() => gate.opened);
    await kit.suspend(uuid, "First.");
    await eventually(() => callsOf("suspend").length === 1);
    expect(await kit.suspend(uuid, "First.")).toBe("unchanged");
    expect(await kit.suspend(uuid, "Second.")).toBe("reason_changed");
    gate.open();
    await life.nothingLeft(uuid);
    const { suspended } = await found();
    expect(suspended).toMatchObject({ reason: "Second." });
    expect(await kit.suspend(uuid, "Second.")).toBe("unchanged");
    expect(await kit.suspend(uuid, "Third.")).toBe("reason_changed");
    expect((await found()).suspended).toEqual({ since: suspended!.since, reason: "Third." });
    expect(callsOf("suspend")).toHaveLength(1);
    const changes = `SELECT detail->>'reason' AS reason FROM events WHERE uuid = $1 AND type = 'suspend_reason_changed' ORDER BY id`;
    expect(await life.world.rows(changes, [uuid])).toEqual([{ reason: "Second." }, { reason: "Third." }]);
  });

  it("and its end are made in the order in which they were requested", async () => {
    const gate = aGate();
    first.suspend.push(() => gate.opened);
    await kit.suspend(uuid, UNPAID);
    expect(await kit.resume(uuid)).toBe("asked");
    expect(await kit.resume(uuid)).toBe("not_suspended");
    expect(await kit.suspend(uuid, "Abuse.")).toBe("asked");
    gate.open();
    await nothingLeft();
    expect(callsOf("suspend", "resume").map(({ what }) => what)).toEqual(["suspend", "resume", "suspend"]);
    expect(await found()).toMatchObject({ suspended: { reason: "Abuse." } });
  });

  it.each(["write_suspension", "settle_suspension"])(
    "is made once if %s is not acknowledged",
    async (name) => {
      const gate = aGate();
      first.suspend.push(() => gate.opened);
      moments.set(`unheard ${name}`, () => Promise.resolve());
      expect(await kit.suspend(uuid, UNPAID)).toBe("asked");
      gate.open();
      await nothingLeft();
      expect(callsOf("suspend")).toHaveLength(1);
      expect(await events()).toEqual(["suspension_asked", "suspended"]);
    },
  );
});

describe("of a suspended resource", () => {
  it("a plan change is made, sees that, and is followed by another suspend", async () => {
    await suspended();
    const { since } = (await found()).suspended!;
    vendor.next("changePlan", (resource) => {
      note("changePlan", resource);
      return Promise.resolve({ config: configOf(resource) });
    });
    expect(await changePlan("premium")).toBe(200);
    await nothingLeft();
    expect(callsOf("changePlan")).toMatchObject([{ suspended: { reason: UNPAID } }]);
    expect(callsOf("suspend").map(({ reason }) => reason)).toEqual([UNPAID, UNPAID]);
    expect(cold.has(uuid)).toBe(true);
    expect(await found()).toMatchObject({ plan: "premium", suspended: { since, reason: UNPAID } });
    expect(await events()).toEqual(["suspension_asked", "suspended", "plan_changed"]);
  });

  it("a rotation is made, and is followed by another suspend", async () => {
    await suspended();
    expect(await kit.rotate(uuid)).toBe("asked");
    await nothingLeft();
    expect(callsOf("rotate", "suspend").map(({ what }) => what)).toEqual(["suspend", "rotate", "suspend"]);
    expect(cold.has(uuid)).toBe(true);
  });

  it("a plan change whose function resumes it ends the suspension", async () => {
    await suspended();
    vendor.next("changePlan", async (resource) => {
      await kit.resume(resource.uuid);
      return { config: configOf(resource) };
    });
    expect(await changePlan("premium")).toBe(200);
    await nothingLeft();
    expect(callsOf("suspend", "resume").map(({ what }) => what)).toEqual(["suspend", "resume"]);
    expect(await found()).toMatchObject({ plan: "premium", suspended: null });
    expect(cold.has(uuid)).toBe(false);
  });
});

it("a plan change that comes during a suspension waits for it, and leaves it", async () => {
  const gate = aGate();
  first.suspend.push(() => gate.opened);
  await kit.suspend(uuid, UNPAID);
  await eventually(() => callsOf("suspend").length === 1);
  expect(await changePlan("premium")).toBe(202);
  expect(vendor.callsOf(uuid, "changePlan")).toHaveLength(0);
  gate.open();
  await life.resourceBecomes(uuid, { plan: "premium" });
  await nothingLeft();
  expect(await found()).toMatchObject({ plan: "premium", suspended: { reason: UNPAID } });
  expect(callsOf("suspend")).toHaveLength(2);
});

it("a suspension that comes during a plan change waits for it", async () => {
  const gate = aGate();
  vendor.next("changePlan", (resource) => gate.opened.then(() => ({ config: configOf(resource) })));
  expect(await changePlan("premium")).toBe(202);
  expect(await kit.suspend(uuid, UNPAID)).toBe("asked");
  await life.world.forged.stepsFellDue(uuid, { kind: "suspend" });
  expect(callsOf("suspend")).toHaveLength(0);
  gate.open();
  await nothingLeft();
  expect(callsOf("suspend")).toHaveLength(1);
  expect(await found()).toMatchObject({ plan: "premium", suspended: { reason: UNPAID } });
});

it.each([
  ["while it is suspended", () => suspended()],
  [
    "while it is being suspended",
    async () => {
      const gate = aGate();
      first.suspend.push(() => gate.opened);
      await kit.suspend(uuid, UNPAID);
      await eventually(() => callsOf("suspend").length === 1);
      setImmediate(gate.open);
    },
  ],
])("a resource that is deprovisioned %s is taken down as a whole", async (_when, begin) => {
  await begin();
  await life.control.deprovision(uuid);
  await eventually(async () => {
    await life.hurry(uuid);
    await life.world.forged.cleanUpsAreFree();
    expect(await life.steps(uuid)).toEqual([]);
  });
  expect(vendor.callsOf(uuid, "deprovision").length).toBeGreaterThan(0);
  expect(callsOf("resume")).toEqual([]);
  const kept = `SELECT suspended_at, suspend_reason FROM resources WHERE uuid = $1`;
  expect(await life.world.rows(kept, [uuid])).toEqual([{ suspended_at: null, suspend_reason: null }]);
});

it("a suspension that is requested twice at once is one", async () => {
  const both = await Promise.all([kit.suspend(uuid, UNPAID), kit.suspend(uuid, UNPAID)]);
  expect(both.sort()).toEqual(["asked", "unchanged"]);
  await nothingLeft();
  expect(callsOf("suspend")).toHaveLength(1);
});

it("a resume goes before the suspensions that wait, and so does what an operator asks for", async () => {
  await suspended();
  const { services } = life.world.service;
  const many = await life.world.installed(7);
  const gates = many.map(() => aGate());
  first.suspend.push(
    ...gates.map(
      ({ opened }) =>
        () =>
          opened,
    ),
  );
  called.length = 0;
  const byOperator = many.pop()!;
  for (const each of many) await kit.suspend(each, UNPAID);
  // As many as there are places.
  await eventually(() => expect(called).toHaveLength(4));
  await kit.resume(uuid);
  await requestSuspension(services, byOperator, "Abuse.", "operator");
  for (const gate of gates) {
    const before = called.length;
    gate.open();
    await eventually(() => called.length > before || called.length === 8);
  }
  const begun = called.map((call) => call.uuid);
  expect(begun.slice(4, 6).sort()).toEqual([uuid, byOperator].sort());
  expect(begun.slice(6).sort()).toEqual(many.slice(4).sort());
  for (uuid of [...many, byOperator]) await nothingLeft();
});

it("a suspension that hangs is given up by an operator, and leaves the resource as it was", async () => {
  first.suspend.push(() => new Promise(() => undefined));
  await kit.suspend(uuid, UNPAID);
  await eventually(() => callsOf("suspend").length === 1);
  const { stdout } = await command(life.world.environment, ["steps", "give-up", uuid, "--yes"], "", {
    vendor,
  });
  expect(stdout).toMatch(/^1 given up/);
  await life.nothingLeft(uuid);
  expect(await found()).toMatchObject({ suspended: null });
  expect(await life.events(uuid)).toContain("step_given_up");
});

describe("kit.suspend is refused with a sentence", () => {
  it.each<[string, () => Promise<string>, string]>([
    [
      "for a uuid that there is not",
      async () => "01234567-89ab-4cde-8f01-23456789abcd",
      "is not provisioned",
    ],
    ["for what is no uuid", async () => "teapot", "not the uuid of a resource"],
    [
      "for a resource that is being provisioned",
      async () => (await life.control.install({ plan: "dedicated" })).addon.id,
      "still being provisioned: suspend it when that is done",
    ],
    [
      "for one that has ended",
      async () => (await life.control.deprovision(uuid), uuid),
      "nothing to suspend or to resume",
    ],
  ])("%s, and so is kit.resume", async (_what, make, words) => {
    if (words.startsWith("still")) life.control.fault("PATCH /addons/*/config", { status: 503 }, 1_000);
    const other = await make();
    await expect(kit.suspend(other, UNPAID)).rejects.toThrow(words);
    await expect(kit.resume(other)).rejects.toThrow(words);
  });

  it.each([
    ["no reason", ""],
    ["one of white space", " \n "],
    ["one that is too long", "x".repeat(301)],
    ["one with a NUL", "a\0b"],
    ["one with broken Unicode", "\ud83d"],
    ["none at all", undefined as unknown as string],
  ])("with %s", async (_what, reason) => {
    await expect(kit.suspend(uuid, reason)).rejects.toThrow("must be a sentence for the customer");
    expect(await life.steps(uuid)).toEqual([]);
  });

  it("by a service without the functions, which says what to write", async () => {
    delete vendor.suspend;
    await expect(kit.suspend(uuid, UNPAID)).rejects.toThrow("returns no suspend and resume");
    await expect(kit.resume(uuid)).rejects.toThrow("returns no suspend and resume");
    Object.assign(vendor, FUNCTIONS);
  });
});
