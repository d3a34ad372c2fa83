import { setTimeout as sleep } from "node:timers/promises";
import { teapots } from "../support/teapots/index.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

const life = opened(() => aLifecycle());
afterEach(() => life.vendor.asUsual());

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
    const TEAPOT_URL = `https://premium.teapots.example/${uuid}`;
    expect(life.varsAt(uuid)).toMatchObject({ TEAPOT_URL });
    expect(life.patchesOf(uuid, since).length).toBeLessThanOrEqual(1);
    expect(await life.resource(uuid)).toMatchObject({ plan: "premium", state: "provisioned" });
  });

  it("is accepted before the grant is exchanged, and sets the vars afterwards", async () => {
    life.control.settings({ acceptDelayMs: 1_500 });
    const { addon } = await life.control.install();
    life.control.settings({ acceptDelayMs: 0 });
    expect((await life.control.changePlan(addon.id, "premium")).response.status).toBe(200);
    expect(await life.steps(addon.id)).toEqual(["announce"]);
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
    await life.world.rows(`UPDATE events SET at = at - interval '61 minutes' WHERE uuid = $1`, [seldom]);
    for (const uuid of [often, seldom, often, seldom]) expect((await ask(uuid)).status).toBe(200);
    expect(alarms()).toEqual([often]);
    // However often it is repeated: no more alarms, and no more rows.
    for (let calls = 0; calls < 5; calls++) expect((await ask(often)).status).toBe(200);
    expect(alarms()).toEqual([often]);
    expect((await life.events(often)).filter((type) => type === "plan_unchanged")).toHaveLength(4);
  });

  it.each(["samovar", "Premium", "teapots:premium", "__proto__"])(
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

    // A later plan that has the var sets it again.
    await life.control.changePlan(uuid, "basic");
    await eventually(() => "TEAPOT_TOKEN" in life.varsAt(uuid));
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
