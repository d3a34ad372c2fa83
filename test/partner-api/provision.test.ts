import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../../src/errors.ts";
import { aGrant, aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened } from "../support/world.ts";

const life = opened(() => aLifecycle());
afterEach(() => {
  life.control.clearFaults();
  life.control.settings({ acceptDelayMs: 0 });
});

it("a provision delivered 50 times at the same moment creates one resource with one vendor's call and one exchange, and all 50 answers are equal", async () => {
  const { control, platform, vendor } = life;
  vendor.next("provision", (resource) => sleep(300).then(() => teapots.provision(resource)));
  // The first delivery is lost, so that the platform has an add-on and a grant to deliver again.
  control.fault("> POST /resources", { reset: "before" });
  const { addon } = await control.install();
  const request = life.requestFor(addon.id);
  const [answers, { response }] = await Promise.all([
    Promise.all(Array.from({ length: 49 }, () => platform.provision(request))),
    control.redeliver(addon.id),
  ]);

  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]!.status).toBe(200);
  expect(response).toMatchObject({ status: 200, body: answers[0]!.body as object });
  expect(vendor.callsOf(addon.id, "provision")).toHaveLength(1);
  await life.becomes(addon.id, { state: "active" });
  expect(life.exchangesOf(request.oauth_grant.code)).toHaveLength(1);
  expect(await life.credential(addon.id)).toMatchObject({ generation: 1 });
  expect((await life.events(addon.id)).filter((type) => type === "tokens_issued")).toHaveLength(1);
});

describe("a provision delivered again", () => {
  it("gets the same bytes much later, from another process, after the grant was exchanged", async () => {
    const uuid = await life.settled();
    const request = life.requestFor(uuid);
    const first = await life.platform.provision(request);
    await life.world.restart();
    const second = await life.platform.provision(request);
    expect(second.text).toBe(first.text);
    expect(second.text).toContain("TEAPOT_URL");
    expect(life.vendor.callsOf(uuid, "provision")).toHaveLength(1);
  });

  it("with other content changes nothing and gets the first answer, with a warning that names what differs", async () => {
    const request = aProvisionRequest({ region: "eu", options: { size: "7", deep: { a: 1, b: [true] } } });
    const read = () => life.world.rows(`SELECT * FROM resources WHERE uuid = $1`, [request.uuid]);
    const first = await life.platform.provision(request);
    const before = await read();
    const again = async (change: object) => {
      const { status, text } = await life.platform.provision({ ...request, ...change });
      expect({ status, text }).toEqual({ status: 200, text: first.text });
      expect(await read()).toEqual(before);
    };
    await again({ options: { deep: { b: [true], a: 1 }, size: "7" } });
    const warnings = () => life.world.lines(request.uuid, "A repeated provision differs");
    expect(warnings()).toEqual([]);
    await again({ plan: "premium", region: "us", name: "kettle", options: { size: "a-private-8" } });
    await again({ plan: "samovar" });
    expect(warnings().map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { differs: ["plan", "region", "options"], kept: "basic", asked: "premium" },
      { differs: ["plan"], asked: "samovar" },
    ]);
    expect(warnings().join()).not.toContain("a-private-8");
    expect(life.vendor.callsOf(request.uuid, "provision")).toHaveLength(1);
  });

  it("with a new code, before the first is accepted, has the new one exchanged", async () => {
    const { control } = life;
    control.settings({ acceptDelayMs: 120_000 });
    const { addon } = await control.install();
    const first = life.requestFor(addon.id).oauth_grant.code;
    control.settings({ acceptDelayMs: 0 });
    const { response } = await control.redeliver(addon.id, { newCode: true });
    const second = life.requestFor(addon.id).oauth_grant.code;
    expect(response.status).toBe(200);
    expect(second).not.toBe(first);
    await eventually(async () => {
      expect(await life.credential(addon.id)).toEqual({ state: "active", generation: 1 });
    });
    expect(life.exchangesOf(second).map(({ response }) => response?.status)).toEqual([200]);
    expect(await life.events(addon.id)).toContain("grant_replaced");
  });

  it("with a new code, when tokens are stored, has nothing exchanged", async () => {
    const uuid = await life.settled();
    expect((await life.control.redeliver(uuid, { newCode: true })).response.status).toBe(200);
    // The exchange of a later grant shows that the sweep has skipped this one.
    await life.settled();
    expect(life.exchangesOf(life.requestFor(uuid).oauth_grant.code)).toEqual([]);
    expect(await life.credential(uuid)).toEqual({ state: "active", generation: 1 });
  });

  it("with a new code, when the refresh token was given up, has it exchanged", async () => {
    const uuid = await life.settled();
    await life.world.forged.refreshIsGivenUp(uuid);
    expect((await life.control.redeliver(uuid, { newCode: true })).response.status).toBe(200);
    await life.becomes(uuid, { state: "active", generation: 2 });
    expect(await life.events(uuid)).toContain("grant_replaced");
  });

  it.each([{ config: {} }, { later: "Soon." }])("has the address of its log drain: %j", async (outcome) => {
    const logDrainUrl = "https://logs.example.com/teapots";
    life.vendor.next("provision", async () => ({ ...outcome, logDrainUrl }));
    const { addon, response } = await life.control.install({ plan: "basic" });
    expect(response.body).toMatchObject({ log_drain_url: logDrainUrl });
    await life.becomes(addon.id, { state: "active" });
    const { logDrains } = life.world.service.services.platformFor(addon.id);
    expect(await logDrains.ofAddon()).toMatchObject([{ url: logDrainUrl }]);
  });

  it("supplies the grant that the first delivery lacked", async () => {
    const request = aProvisionRequest({ oauth_grant: null });
    await life.platform.provision(request);
    expect(await life.credential(request.uuid)).toMatchObject({ state: "no_grant" });
    await life.platform.provision({ ...request, oauth_grant: aGrant() });
    expect(await life.credential(request.uuid)).toMatchObject({ state: "grant_pending" });
  });
});

it.each(["basic", "dedicated"])(
  "no grant is exchanged before the answer has been sent for the plan %s, by the order of the calls",
  async (plan) => {
    const { control } = life;
    if (plan === "basic")
      life.vendor.next("provision", (resource) => sleep(1_500).then(() => teapots.provision(resource)));
    const { addon } = await control.install({ plan });
    await life.becomes(addon.id, { state: "active" });
    const { code } = life.requestFor(addon.id).oauth_grant;
    const entries = life.entries();
    const answered = entries.find(({ request }) => (request.body as { uuid?: string })?.uuid === addon.id)!;
    const [exchange, ...more] = life.exchangesOf(code);
    expect(more).toEqual([]);
    expect(exchange!.response?.status).toBe(200);
    expect(Date.parse(exchange!.at)).toBeGreaterThanOrEqual(Date.parse(answered.at) + answered.ms);
  },
);

it("a provision with an unknown plan is refused with a list of the plans; no row, no vendor's call, no grant", async () => {
  const { addon, response } = await life.control.install({ plan: "samovar", force: true });
  expect(response).toMatchObject({
    status: 422,
    body: { id: "unknown_plan", message: 'There is no plan "samovar". Plans: basic, premium, dedicated.' },
  });
  expect(await life.resource(addon.id)).toBeUndefined();
  expect(life.vendor.calls.filter(({ uuid }) => uuid === addon.id)).toEqual([]);
});

it("a provision that the service refuses is answered 422 with its message every time; then only a deprovision is possible", async () => {
  const { control, vendor, platform } = life;
  vendor.next("provision", () => Promise.reject(new Refusal("The kiln is full.", { id: "kiln_full" })));
  const { addon, response } = await control.install();
  expect(response).toMatchObject({ status: 422, body: { id: "kiln_full", message: "The kiln is full." } });
  await eventually(() => vendor.callsOf(addon.id, "deprovision").length === 1);

  const request = life.requestFor(addon.id);
  const answers = await Promise.all([1, 2, 3].map(() => platform.provision(request)));
  for (const { status, text } of answers)
    expect({ status, text }).toEqual({ status: 422, text: JSON.stringify(response.body) });
  expect(vendor.callsOf(addon.id, "provision")).toHaveLength(1);

  expect(await life.resource(addon.id)).toMatchObject({ state: "failed" });
  expect(await life.credential(addon.id)).toMatchObject({ state: "erased" });
  await life.settled();
  expect(life.exchangesOf(request.oauth_grant.code)).toEqual([]);

  expect((await platform.changePlan(addon.id, { plan: "premium" })).status).toBe(422);
  expect((await platform.deprovision(addon.id)).status).toBe(204);
  expect((await platform.deprovision(addon.id)).status).toBe(410);
  expect((await platform.changePlan(addon.id, { plan: "premium" })).status).toBe(410);
  expect((await platform.provision(request)).status).toBe(410);
  expect(vendor.callsOf(addon.id, "changePlan")).toEqual([]);
});

it("a provision of a deprovisioned resource is answered 410 with any content, and restores nothing", async () => {
  const uuid = await life.settled();
  expect((await life.control.deprovision(uuid)).response.status).toBe(204);
  await eventually(async () => (await life.steps(uuid)).length === 0);
  const before = await life.world.rows(`SELECT * FROM resources WHERE uuid = $1`, [uuid]);

  const again = [
    await life.control.redeliver(uuid),
    await life.control.redeliver(uuid, { newCode: true }),
    await life.control.redeliver(uuid, { plan: "dedicated" }),
  ];
  for (const { response } of again)
    expect(response).toMatchObject({ status: 410, body: { id: "deprovisioned" } });
  const unknown = { ...aProvisionRequest({ plan: "samovar" }), uuid };
  expect((await life.platform.provision(unknown)).status).toBe(410);

  await life.settled();
  expect(life.exchangesOf(life.requestFor(uuid).oauth_grant.code)).toEqual([]);
  expect(await life.world.rows(`SELECT * FROM resources WHERE uuid = $1`, [uuid])).toEqual(before);
  expect(await life.credential(uuid)).toMatchObject({ state: "erased" });
  expect(await life.steps(uuid)).toEqual([]);
  expect(life.vendor.callsOf(uuid, "provision")).toHaveLength(1);
});
