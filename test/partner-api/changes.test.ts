import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../../src/errors.ts";
import type { Done, Outcome, VendorResource } from "../../src/resources/contract.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened } from "../support/world.ts";

// Plan changes and deprovisions, and what happens when a vendor's function returns what it must not.

const life = opened(() => aLifecycle());
afterEach(() => life.vendor.asUsual());

/** The columns of a resource's rows that hold an encrypted value. */
const sealedOf = (uuid: string) =>
  life.world.rows(
    `SELECT key FROM resources r JOIN credentials c USING (uuid), jsonb_each(to_jsonb(r) || to_jsonb(c))
     WHERE uuid = $1 AND key LIKE 'sealed%' AND value <> 'null'`,
    [uuid],
  );

describe("DELETE /resources/:uuid", () => {
  it("calls deprovision with what the customer had bought, and deletes the name and the options of its row", async () => {
    const uuid = randomUUID();
    const asked = aProvisionRequest({ uuid, name: "teapots-of-acme", options: { size: "large" } });
    const given: VendorResource[] = [];
    life.vendor.next("provision", (resource) => (given.push(resource), teapots.provision(resource)));
    await life.platform.provision(asked);
    life.vendor.next("deprovision", async (resource) => void given.push(resource));
    expect(await life.platform.deprovision(uuid)).toMatchObject({ status: 204, text: "" });
    await eventually(() => given.length === 2);
    const [before, after] = given;
    expect(before).toMatchObject({ name: "teapots-of-acme", options: { size: "large" } });
    const { plan, region } = before!;
    expect(after).toMatchObject({ uuid, plan, region, name: "teapots-of-acme", options: { size: "large" } });
    const row = `SELECT name, options FROM resources WHERE uuid = $1`;
    expect(await life.world.rows(row, [uuid])).toEqual([{ name: null, options: {} }]);
    expect(region).not.toBeNull();
  });

  it("answers 20 simultaneous calls with one 204 and 19 times 410, and cleans up once", async () => {
    const uuid = await life.settled();
    const answers = await Promise.all(Array.from({ length: 20 }, () => life.platform.deprovision(uuid)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array<number>(19).fill(410)]);
    await life.nothingLeft(uuid);
    expect(life.vendor.callsOf(uuid, "deprovision")).toHaveLength(1);
    expect((await life.events(uuid)).filter((type) => type === "deprovisioned")).toHaveLength(1);
  });

  it("answers 404 for an unknown uuid, every time, and cleans up nothing", async () => {
    const uuid = randomUUID();
    for (const _ of [1, 2]) {
      const { status, body } = await life.platform.deprovision(uuid);
      expect({ status, id: (body as { id: string }).id }).toEqual({ status: 404, id: "not_found" });
    }
    expect((await life.platform.changePlan(uuid, { plan: "premium" })).status).toBe(404);
    expect(await life.events(uuid)).toEqual(["deprovisioned_before_provision"]);
    expect(await life.steps(uuid)).toEqual([]);
    expect(life.vendor.calls.filter((call) => call.uuid === uuid)).toEqual([]);
  });

  it("before its provision arrives: the provision is answered 410, and creates and exchanges nothing", async () => {
    const request = aProvisionRequest();
    expect((await life.platform.deprovision(request.uuid)).status).toBe(404);
    for (const plan of ["basic", "dedicated", "basic"]) {
      const { status, body } = await life.platform.provision({ ...request, plan });
      expect({ status, id: (body as { id: string }).id }).toEqual({ status: 410, id: "deprovisioned" });
    }
    expect(life.vendor.calls.filter((call) => call.uuid === request.uuid)).toEqual([]);
    expect(await life.steps(request.uuid)).toEqual([]);
    expect(await life.credential(request.uuid)).toMatchObject({ state: "erased" });
    expect(await sealedOf(request.uuid)).toEqual([]);
  });

  it("at the same moment as its provision: nothing is left over in either order", async () => {
    for (let round = 0; round < 20; round++) {
      const request = aProvisionRequest();
      const [provision, deprovision] = await Promise.all(
        round % 2
          ? [life.platform.provision(request), life.platform.deprovision(request.uuid)]
          : [life.platform.deprovision(request.uuid), life.platform.provision(request)].reverse(),
      );
      // 404: the deprovision came first. 204: it ended a provision that was answered or under way.
      const told = `${provision!.status} then ${deprovision!.status}`;
      expect(["200 then 204", "410 then 204", "410 then 404"]).toContain(told);
      expect(await life.resource(request.uuid)).toMatchObject({ state: "deprovisioned" });
      expect(await sealedOf(request.uuid)).toEqual([]);
    }
  });
});

/** A provisioned resource by a request made by hand: the sandbox does not know its grant. */
async function provisioned(plan = "basic"): Promise<string> {
  const request = aProvisionRequest({ plan });
  expect((await life.platform.provision(request)).status).toBe(200);
  return request.uuid;
}

describe("PUT /resources/:uuid", () => {
  it("answers with the new config vars, and sets them at the platform", async () => {
    const uuid = await life.settled();
    const since = life.position();
    const { response } = await life.control.changePlan(uuid, "premium");
    const config = { TEAPOT_URL: `https://premium.teapots.example/${uuid}` };
    expect(response).toMatchObject({ status: 200, body: { config, message: expect.any(String) } });
    await life.nothingLeft(uuid);
    expect(life.varsAt(uuid)).toMatchObject(config);
    expect(life.patchesOf(uuid, since).length).toBeLessThanOrEqual(1);
    expect(await life.resource(uuid)).toMatchObject({ plan: "premium", state: "provisioned" });
  });

  it("is accepted before the grant is exchanged, and sets the vars afterwards", async () => {
    life.control.settings({ acceptDelayMs: 120_000 });
    const { addon } = await life.control.install();
    life.control.settings({ acceptDelayMs: 0 });
    expect((await life.control.changePlan(addon.id, "premium")).response.status).toBe(200);
    expect(await life.steps(addon.id)).toEqual(["announce"]);
    life.control.advanceClock(121);
    await eventually(async () => {
      expect(await life.credential(addon.id)).toMatchObject({ state: "active" });
      expect(await life.steps(addon.id)).toEqual([]);
    });
  });

  it("with the current plan, more than three times within an hour: raises one alarm for each resource", async () => {
    const [often, seldom] = [await provisioned(), await provisioned()];
    const alarms = () =>
      life.world
        .lines('"alarm":"plan_unchanged_often"')
        .map((line) => (JSON.parse(line) as { uuid: string }).uuid);
    const ask = (uuid: string) => life.platform.changePlan(uuid, { plan: "basic" });
    for (const uuid of [often, often, often, seldom, seldom, seldom]) await ask(uuid);
    expect(alarms()).toEqual([]);
    // Changes of more than an hour ago do not count.
    await life.world.forged.eventsAged(seldom, 61 * 60);
    for (const uuid of [often, seldom, often, seldom]) expect((await ask(uuid)).status).toBe(200);
    expect(alarms()).toEqual([often]);
    // However often it is repeated: no more alarms, and no more rows.
    for (let calls = 0; calls < 5; calls++) expect((await ask(often)).status).toBe(200);
    expect(alarms()).toEqual([often]);
    expect((await life.events(often)).filter((type) => type === "plan_unchanged")).toHaveLength(4);
  });

  it.each(["Premium", "__proto__"])(
    "with the unknown plan %s: answers 422, without a call or a change",
    async (plan) => {
      const uuid = await provisioned();
      const { status, body } = await life.platform.changePlan(uuid, { plan });
      expect({ status, body: body as unknown }).toMatchObject({ status: 422, body: { id: "unknown_plan" } });
      expect(life.vendor.callsOf(uuid, "changePlan")).toEqual([]);
      expect(await life.resource(uuid)).toMatchObject({ plan: "basic", state: "provisioned" });
    },
  );

  it("is not overwritten by slow updates of the config vars of an earlier one", async () => {
    const uuid = await life.settled();
    life.control.fault("GET /addons/*/config", { delayMs: 1_500 }, 1);
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(200);
    await eventually(() => expect(life.control.faults()).toEqual([]));
    expect((await life.control.changePlan(uuid, "basic")).response.status).toBe(200);
    await life.nothingLeft(uuid);
    expect(life.varsAt(uuid)["TEAPOT_URL"]).toBe(`https://basic.teapots.example/${uuid}`);
  });

  it("removes the config vars that the new plan does not have", async () => {
    const uuid = await life.settled();
    expect(life.varsAt(uuid)).toHaveProperty("TEAPOT_TOKEN");
    const since = life.position();
    life.vendor.next("changePlan", () => Promise.resolve({ config: { TEAPOT_URL: "https://one.example" } }));
    await life.control.changePlan(uuid, "premium");
    await eventually(() => life.patchesOf(uuid, since).length > 0);
    expect(life.patchesOf(uuid, since)[0]!.config).toEqual([
      { name: "TEAPOT_URL", value: "https://one.example" },
      { name: "TEAPOT_TOKEN", value: null },
    ]);
    await eventually(() => !("TEAPOT_TOKEN" in life.varsAt(uuid)));
  });
});

it("simultaneous plan changes are made one after the other, and the last one answered is the plan in the end", async () => {
  const uuid = await provisioned();
  const answered: string[] = [];
  const plans = Array.from({ length: 12 }, (_, i) => (i % 2 ? "basic" : "premium"));
  await Promise.all(
    plans.map(async (plan) => {
      life.vendor.next("changePlan", async (resource, previous) => {
        await sleep(20);
        return teapots.changePlan(resource, previous);
      });
      const { status } = await life.platform.changePlan(uuid, { plan });
      expect(status).toBe(200);
      answered.push(plan);
    }),
  );
  const called = life.vendor.callsOf(uuid, "changePlan").map(({ plan }) => plan);
  expect(await life.resource(uuid)).toMatchObject({ plan: answered.at(-1) });
  expect(called.at(-1)).toBe(answered.at(-1));
  // Requests that found their plan in place called no function.
  expect(called).toEqual(answered.filter((plan, i) => plan !== (answered[i - 1] ?? "basic")));
});

// The log names what was returned, and the function is called again until it is fixed.

const SECRET = "https://hunter2hunter2.example";
/** The log lines about a resource. */
const saidOf = (uuid: string) => life.world.lines(uuid).join("\n");

it.each<[string, () => unknown, string]>([
  ["nothing", () => null, "changePlan() returned nothing;"],
  ["a promise as config", () => ({ config: Promise.resolve({}) }), "as a plain object of names and strings."],
  ["a var not declared", () => ({ config: { LD_PRELOAD: "x" } }), "set LD_PRELOAD, which is not among"],
  ["a var of no text", () => ({ config: { TEAPOT_URL: new URL(SECRET) } }), "to a value of type object"],
  ["config together with later", () => ({ config: {}, later: "Soon." }), "returned both config and later"],
])("changePlan that returns %s: 202, no var is removed, and the log says why", async (_, answer, said) => {
  const uuid = await life.settled("basic");
  const since = life.position();
  life.vendor.next("changePlan", async () => answer() as Outcome);
  // A change that is made again, and done before its answer is stored, is answered 200.
  const answered = aGate();
  life.vendor.nextAfter("changePlan", answered.opened);
  expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
  answered.open();
  await life.nothingLeft(uuid);
  expect(saidOf(uuid)).toContain(said);
  expect(life.world.logged()).not.toContain(SECRET);
  // Under the same key.
  const [first, ...more] = life.vendor.callsOf(uuid, "changePlan");
  expect(more).toEqual([first]);
  const sent = life.patchesOf(uuid, since).flatMap((patch) => patch.config.map(({ value }) => value));
  expect(sent).not.toContain(null);
  expect(Object.keys(life.varsAt(uuid)).sort()).toEqual(["TEAPOT_TOKEN", "TEAPOT_URL"]);
  expect(await life.resource(uuid)).toMatchObject({ plan: "premium" });
});

it.each<[string, unknown]>([
  ["an object", { text: "Done." }],
  ["a number", 7],
  ["a number that JSON has not", 7n],
  ["a symbol", Symbol("done")],
])("changePlan whose message is %s is answered without it, and the log says so", async (_, message) => {
  const uuid = await life.settled("basic");
  life.vendor.next("changePlan", async (resource, previous) => ({
    ...((await teapots.changePlan(resource, previous)) as Done),
    message: message as string,
  }));
  const { status, body } = (await life.control.changePlan(uuid, "premium")).response;
  expect([status, (body as { message?: string }).message]).toEqual([200, undefined]);
  expect(life.vendor.callsOf(uuid, "changePlan")).toHaveLength(1);
  expect(life.world.lines(uuid, "not a string", `message of type ${typeof message}`)).toHaveLength(1);
});

it.each([0, 200, 302, 99, 600, NaN, 4.5, "402", 1e9])(
  "changePlan that is refused with the status %p is refused with 422",
  async (status) => {
    const uuid = await life.settled("basic");
    const refusal = new Refusal("No.", { id: 7n as never, status: status as number });
    life.vendor.next("changePlan", () => Promise.reject(refusal));
    const { response } = await life.control.changePlan(uuid, "premium");
    expect(response).toMatchObject({ status: 422, body: { id: "refused", message: "No." } });
  },
);
