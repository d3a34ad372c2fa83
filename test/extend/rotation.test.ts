import type { State } from "../../src/credentials/states.ts";
import { Refusal } from "../../src/errors.ts";
import type { Extensions, Kit, Rotated, Rotation } from "../../src/extend/contract.ts";
import { planRotations, requestRotation } from "../../src/extend/rotation.ts";
import type { NotYet } from "../../src/resources/contract.ts";
import { aGate, aVendor, type Vendor } from "../support/a-vendor.ts";
import type { Waiting } from "../support/forged.ts";
import { interleavings } from "../support/interleavings.ts";
import { kit as command } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// A vendor's service that can rotate credentials: the tokens of its product that work, by resource.

const vendor: Vendor & Extensions = aVendor();
const tokens = new Map<string, Set<string>>();
const called: { what: "rotate" | "retire"; uuid: string; plan: string; key: string }[] = [];
/** What the next calls do before they work, and answer instead, if it is something. */
type First<Answer> = (() => Answer | void | Promise<Answer | void>)[];
const first: { rotate: First<Rotated | NotYet>; retire: First<NotYet> } = { rotate: [], retire: [] };
const rotation: Rotation = {
  async rotate({ uuid, plan, idempotencyKey: key }) {
    called.push({ what: "rotate", uuid, plan, key });
    const instead = await first.rotate.shift()?.();
    if (instead) return instead;
    const [old] = [...tokensOf(uuid)].filter((token) => token !== `token-${key}`).slice(-1);
    tokensOf(uuid).add(`token-${key}`);
    return {
      config: { TEAPOT_URL: `https://${plan}.example`, TEAPOT_TOKEN: `token-${key}` },
      retires: { old: old! },
    };
  },
  async retire({ uuid, plan, idempotencyKey: key }, retires) {
    called.push({ what: "retire", uuid, plan, key });
    const instead = await first.retire.shift()?.();
    if (instead) return instead;
    tokensOf(uuid).delete((retires as { old: string }).old);
  },
};

const { moments, parts } = interleavings();
let kit: Kit;
let uuid: string;
const life = opened(() => {
  const make = (given: Kit) => ((kit = given), Object.assign(vendor, { rotation }));
  return aLifecycle({ parts: { ...parts, vendor: make } });
});
beforeEach(async () => {
  first.rotate.length = first.retire.length = called.length = 0;
  uuid = await life.settled();
  tokens.set(uuid, new Set(["first"]));
});
afterEach(() => life.control.clearFaults());

const tokensOf = (of: string) => tokens.get(of)!;
const callsOf = (what: "rotate" | "retire") =>
  called.filter((call) => call.what === what && call.uuid === uuid);
const token = () => life.control.configVars(life.control.addon(uuid).app.name)["TEAPOT_TOKEN"];
const steps = () => life.steps(uuid);
const events = async () => (await life.events(uuid)).filter((type) => /rotat|retire|deprov|plan/.test(type));
const ASKED_BY = `SELECT detail->>'by' AS by FROM events WHERE uuid = $1 AND type = 'rotation_asked'`;
const becomes = (kinds: string[]) => eventually(async () => expect(await steps()).toEqual(kinds));
/** The overlap is over, or the pause between two tries. */
const makeDue = (which: Waiting = {}) => life.world.forged.stepsFellDue(uuid, which);
/** The new credentials are made, and the platform is to be told. */
const announcing = () =>
  eventually(async () => {
    const made = `SELECT kind FROM steps WHERE uuid = $1 AND detail ? 'retires'`;
    expect(await life.world.rows(made, [uuid])).toEqual([{ kind: "rotate" }]);
  });
const tokensAre = (state: State) => life.world.forged.tokensAre(state, uuid);
/** An operator's `kit rotate`; returns what is skipped, and why. */
async function byOperator(...words: string[]) {
  const { stdout } = await command(life.world.environment, ["rotate", ...words, "--json"], "", { vendor });
  return (JSON.parse(stdout) as { skipped: { uuid: string; reason: string }[] }).skipped;
}
const ASKED = ["rotation_asked", "rotated", "rotation_announced"];
const failing = (times: number) =>
  Array.from({ length: times }, () => () => Promise.reject(new Error("The kiln is cold.")));

/** Ends what waits, however often it is put off. */
async function done(): Promise<void> {
  await eventually(async () => {
    await makeDue();
    expect(await steps()).toEqual([]);
  });
}

describe("a rotation", () => {
  it("sets new credentials, and ends the old ones two hours after the app has them", async () => {
    expect(await kit.rotate(uuid.toUpperCase())).toBe("asked");
    await becomes(["retire"]);
    const { key } = callsOf("rotate")[0]!;
    expect(token()).toBe(`token-${key}`);
    expect([...tokensOf(uuid)]).toEqual(["first", `token-${key}`]);
    const [row] = await life.world.rows(
      `SELECT round(extract(epoch FROM s.due_at - now()) / 60)::int AS minutes, rotated_at > now() - interval '5 minutes' AS "isNoted"
       FROM steps s JOIN resources USING (uuid) WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({ minutes: expect.any(Number), isNoted: true });
    expect(row!["minutes"]).toBeGreaterThan(100);
    await makeDue();
    await becomes([]);
    expect([...tokensOf(uuid)]).toEqual([`token-${key}`]);
    expect(callsOf("retire")).toEqual([{ what: "retire", uuid, plan: "basic", key }]);
    expect(await events()).toEqual([...ASKED, "retired"]);
  });

  it("that fails for an hour leaves the old credentials as they are, and is made when that is over", async () => {
    const gate = aGate();
    first.rotate.push(...failing(12), () => gate.opened);
    await kit.rotate(uuid);
    await eventually(async () => {
      await makeDue();
      expect(life.world.lines('"alarm":"step_stuck"', uuid, '"kind":"rotate"')).not.toEqual([]);
    });
    expect(token()).not.toMatch(/^token-/);
    expect([...tokensOf(uuid)]).toEqual(["first"]);
    gate.open();
    await eventually(async () => {
      await makeDue();
      expect(token()).toBe(`token-${callsOf("rotate")[0]!.key}`);
    });
    expect(new Set(callsOf("rotate").map(({ key }) => key)).size).toBe(1);
    await done();
  });

  it("goes on as long as the service says that it is not done, and so does its end", async () => {
    first.rotate.push(() => ({ later: "A potter is on the way.", againInSeconds: 3_600 }));
    first.retire.push(() => ({ later: "Still pouring.", againInSeconds: 3_600 }));
    const said = (words: string) =>
      eventually(async () => {
        await makeDue({ kind: "retire", isSaid: false });
        const found = await life.world.rows(`SELECT detail->>'said' AS said FROM steps WHERE uuid = $1`, [
          uuid,
        ]);
        expect(found).toEqual([{ said: words }]);
      });
    await kit.rotate(uuid);
    await said("A potter is on the way.");
    await makeDue();
    await said("Still pouring.");
    await done();
    expect(await events()).toEqual([...ASKED, "retired"]);
  });

  it("that the service refuses is dropped, and everything stays as it is", async () => {
    first.rotate.push(() => {
      throw new Refusal("Yours is a teapot without a key.");
    });
    await kit.rotate(uuid);
    await becomes([]);
    expect(await events()).toEqual(["rotation_asked", "rotation_refused"]);
    expect(token()).not.toMatch(/^token-/);
  });

  it.each<[string, object]>([
    ["does not say what to retire", { config: { TEAPOT_TOKEN: "x" } }],
    ["names them with broken Unicode", { config: { TEAPOT_TOKEN: "x" }, retires: { "\ud83d": 1 } }],
  ])("whose function %s reaches nobody, and is tried again", async (_what, outcome) => {
    const usual = rotation.rotate;
    rotation.rotate = async () => outcome as never;
    await kit.rotate(uuid);
    await eventually(async () => {
      const [row] = await life.world.rows(`SELECT last_error AS error FROM steps WHERE uuid = $1`, [uuid]);
      expect(row).toEqual({ error: expect.stringContaining("The service") });
    });
    expect(token()).not.toBe("x");
    rotation.rotate = usual;
    await done();
    expect(token()).toMatch(/^token-/);
  });

  it("whose app has no tokens for now waits until it has", async () => {
    const gate = aGate();
    first.rotate.push(() => gate.opened);
    await kit.rotate(uuid);
    await eventually(() => callsOf("rotate").length === 1);
    await tokensAre("grant_lost");
    gate.open();
    await announcing();
    expect(await life.world.rows(`SELECT due_at FROM steps WHERE uuid = $1`, [uuid])).toEqual([
      { due_at: null },
    ]);
    await tokensAre("active");
    await becomes(["retire"]);
    await done();
  });

  it("does not end the old credentials while the platform cannot be told the new ones", async () => {
    life.control.fault("PATCH /addons/*/config", { status: 503 }, 1_000);
    await kit.rotate(uuid);
    // Of this kind, a process of the release before claims none: it would not write down what is to be retired.
    await announcing();
    await eventually(async () => {
      await makeDue();
      const tried = `SELECT 1 FROM steps WHERE uuid = $1 AND attempts > 1`;
      expect(await life.world.rows(tried, [uuid])).toHaveLength(1);
    });
    expect(await kit.rotate(uuid)).toBe("under_way");
    expect(tokensOf(uuid).has("first")).toBe(true);
    expect(token()).not.toMatch(/^token-/);
    life.control.clearFaults();
    await eventually(async () => {
      await makeDue({ kind: "rotate" });
      expect(await steps()).toEqual(["retire"]);
    });
    expect(token()).toMatch(/^token-/);
    await done();
  });

  it("is not begun for an app whose credential is quarantined", async () => {
    await tokensAre("quarantined");
    await expect(kit.rotate(uuid)).rejects.toThrow("has no working tokens");
    expect(await requestRotation(life.world.service.services, uuid, "timetable")).toBe("no_tokens");
    expect(await byOperator(uuid)).toEqual([{ uuid, reason: "quarantined" }]);
    expect(await steps()).toEqual([]);
    await tokensAre("active");
  });

  it("leaves a var as it is set meanwhile, unless it changes that too", async () => {
    const { TEAPOT_URL: before } = life.varsAt(uuid);
    const gate = aGate();
    const config = { TEAPOT_URL: before!, TEAPOT_TOKEN: "new" };
    first.rotate.push(() => gate.opened.then(() => ({ config, retires: { old: "first" } })));
    await kit.rotate(uuid);
    await eventually(() => callsOf("rotate").length === 1);
    await kit.config.set(uuid, { TEAPOT_URL: "https://moved.example", TEAPOT_TOKEN: "meanwhile" });
    gate.open();
    await becomes(["retire"]);
    expect(life.varsAt(uuid)).toEqual({ TEAPOT_URL: "https://moved.example", TEAPOT_TOKEN: "new" });
    await done();
  });

  it("is not asked for again during the overlap, but by an operator who names the resource", async () => {
    const { services } = life.world.service;
    // Asked twice, for it is not heard that the first one was stored, which is done by then.
    moments.set("unheard write_rotation", () => {
      services.wake.runRotations();
      return becomes(["retire"]);
    });
    expect(await requestRotation(services, uuid, "operator")).toBe("asked");
    expect(await kit.rotate(uuid)).toBe("overlap");
    // As of a process that has found it due before another one rotated it.
    expect(await requestRotation(services, uuid, "timetable")).toBe("overlap");
    expect(await byOperator("--all")).toContainEqual({ uuid, reason: "overlap" });
    expect(await steps()).toEqual(["retire"]);
    expect(callsOf("retire")).toEqual([]);
    expect(await events()).toEqual(ASKED);
    expect(await life.world.rows(ASKED_BY, [uuid])).toEqual([{ by: "operator" }]);
    expect(await byOperator(uuid)).toEqual([]);
    await eventually(() => expect(callsOf("rotate")).toHaveLength(2));
    await done();
    expect(tokensOf(uuid).size).toBe(1);
  });

  it("that has made new credentials has them set in the app before it is begun for others", async () => {
    const all = await life.install(6);
    await life.become(all, 1);
    for (const each of all) tokens.set(each, new Set(["first"]));
    const [one, others] = [aGate(), aGate()];
    first.rotate.push(() => one.opened, ...Array(5).fill(() => others.opened));
    for (const each of all) await requestRotation(life.world.service.services, each, "operator_of_all");
    // As many as there are places.
    await eventually(() => expect(called).toHaveLength(4));
    one.open();
    uuid = called[0]!.uuid;
    await becomes(["retire"]);
    others.open();
    for (uuid of all) await done();
  });

  it("that is asked for twice is one; asked for during the overlap, it ends that first", async () => {
    const gate = aGate();
    first.rotate.push(() => gate.opened);
    const both = await Promise.all([kit.rotate(uuid), kit.rotate(uuid)]);
    expect(both.sort()).toEqual(["asked", "under_way"]);
    gate.open();
    await becomes(["retire"]);
    const again = aGate();
    first.retire.push(...failing(1), () => again.opened);
    expect(await byOperator(uuid)).toEqual([]);
    await eventually(() => callsOf("retire").length > 0);
    expect(callsOf("rotate")).toHaveLength(1);
    again.open();
    await eventually(async () => {
      await makeDue({ kind: "retire", isTried: true });
      expect(callsOf("rotate")).toHaveLength(2);
    });
    await done();
    expect(tokensOf(uuid).size).toBe(1);
    const second = ["rotation_asked", "retired", "rotated", "rotation_announced", "retired"];
    expect(await events()).toEqual([...ASKED, ...second]);
  });
});

const changePlan = async (plan: string) => (await life.control.changePlan(uuid, plan)).response.status;

it("a rotation and a plan change wait for each other, in the order in which they were asked for", async () => {
  const [plan, made] = [aGate(), aGate()];
  vendor.next("changePlan", () => plan.opened.then(() => ({ config: { TEAPOT_TOKEN: "of premium" } })));
  first.rotate.push(() => made.opened);
  expect(await changePlan("premium")).toBe(202);
  await kit.rotate(uuid);
  expect(callsOf("rotate")).toHaveLength(0);
  plan.open();
  await eventually(() => callsOf("rotate").length === 1);
  expect(callsOf("rotate")).toMatchObject([{ plan: "premium" }]);
  expect(await changePlan("basic")).toBe(202);
  expect(vendor.callsOf(uuid, "changePlan")).toHaveLength(1);
  made.open();
  await eventually(() => vendor.callsOf(uuid, "changePlan").length === 2);
  await eventually(async () => expect(await life.resource(uuid)).toMatchObject({ plan: "basic" }));
  await done();
  expect(await events()).toEqual(expect.arrayContaining([...ASKED, "retired"]));
});

it.each([
  ["while new credentials are made", 0],
  ["during the overlap", 1],
])("a resource that is deprovisioned %s is taken down as a whole", async (_when, made) => {
  const gate = aGate();
  if (made === 0) first.rotate.push(() => gate.opened);
  await kit.rotate(uuid);
  await eventually(() => callsOf("rotate").length === 1);
  if (made === 1) await becomes(["retire"]);
  await life.control.deprovision(uuid);
  gate.open();
  await eventually(async () => {
    await life.hurry(uuid);
    expect(await steps()).toEqual([]);
  });
  expect(vendor.callsOf(uuid, "deprovision").length).toBeGreaterThan(0);
  expect(callsOf("retire")).toEqual([]);
  await expect(kit.rotate(uuid)).rejects.toThrow("not provisioned");
});

describe("nothing is lost or done twice", () => {
  it("when the process that makes new credentials is overtaken by another", async () => {
    const gate = aGate();
    first.rotate.push(() => gate.opened);
    await kit.rotate(uuid);
    await eventually(() => callsOf("rotate").length === 1);
    await life.hurry(uuid);
    await becomes(["retire"]);
    gate.open();
    await done();
    expect(new Set(callsOf("rotate").map(({ key }) => key)).size).toBe(1);
    expect(await events()).toEqual([...ASKED, "retired"]);
    expect(tokensOf(uuid)).toEqual(new Set([token()]));
  });

  it.each(["settle_steps", "settle_announced", "settle_retired"])(
    "when the process does not hear that %s was committed",
    async (name) => {
      moments.set(`unheard ${name}`, () => Promise.resolve());
      await kit.rotate(uuid);
      await eventually(async () => {
        await makeDue({ kind: "rotate" });
        expect(await steps()).toEqual(["retire"]);
      });
      await done();
      await eventually(() => moments.size === 0);
      expect(await events()).toEqual([...ASKED, "retired"]);
      expect(tokensOf(uuid)).toEqual(new Set([token()]));
    },
  );
});

const DAYS_100 = 100 * 24 * 3_600;

it("the timetable rotates credentials that are too old, and one that was refused not again on that day", async () => {
  const [young, rotated, refused] = [uuid, await life.settled(), await life.settled()];
  uuid = await life.settled();
  for (const each of [young, rotated, refused, uuid]) tokens.set(each, new Set(["first"]));
  await life.world.forged.resourceIsFrom([rotated, refused, uuid], DAYS_100);
  await life.world.forged.rotatedDaysAgo(rotated, 1);
  await life.world.forged.anEventIsNoted(refused, "rotation_refused");
  rotation.everyDays = 90;
  await eventually(async () => expect(await events()).toEqual(ASKED));
  expect(await life.world.rows(ASKED_BY, [uuid])).toEqual([{ by: "timetable" }]);
  await done();
  expect([...new Set(called.map((call) => call.uuid))]).toEqual([uuid]);
});

it("a resource whose rotation cannot be planned holds no other up, and is said at each run", async () => {
  const { services } = life.world.service;
  const [bad, good] = [uuid, await life.settled()];
  tokens.set(good, new Set(["first"]));
  await life.world.rows(
    `CREATE FUNCTION refuse() RETURNS trigger AS 'BEGIN RAISE EXCEPTION ''no rotation of this''; END' LANGUAGE plpgsql`,
  );
  await life.world.rows(
    `CREATE TRIGGER refuse BEFORE INSERT ON steps FOR EACH ROW WHEN (NEW.kind = 'rotate' AND NEW.uuid = '${bad}') EXECUTE FUNCTION refuse()`,
  );
  rotation.everyDays = 90;
  await life.world.forged.resourceIsFrom([bad, good], DAYS_100);
  await life.world.forged.rotatedDaysAgo([bad, good], 100);
  await expect(planRotations(services)).rejects.toThrow("no rotation of this");
  await eventually(async () =>
    expect(await life.world.rows(ASKED_BY, [good])).toEqual([{ by: "timetable" }]),
  );
  delete rotation.everyDays;
  await life.world.rows(`DROP TRIGGER refuse ON steps`);
  expect(life.world.lines(bad, "could not be planned", "no rotation of this")).not.toEqual([]);
});

it("a service without a rotation says so to who asks for one", async () => {
  delete vendor.rotation;
  await expect(kit.rotate(uuid)).rejects.toThrow("This service cannot rotate credentials");
});
