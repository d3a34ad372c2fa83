// A resource that has ended stays ended, whatever its service answers later, and its names are free.

import { type PartnerAnswer, success } from "./partner.ts";
import { aWorld, holdDelays, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const NO: PartnerAnswer = { status: 422, body: { id: "no", message: "Sold out." } };
const BUSY: PartnerAnswer = { status: 500, body: { id: "busy", message: "Busy." } };
const only = (method: string, answer: PartnerAnswer) =>
  world.partner.answers((request) => (request.method === method ? answer : success(request)));
const stateOf = (id: string) => world.control.addon(id);

describe("a provision that failed at the platform", () => {
  it("frees its attachment's name after a refusal, and keeps it when there was no answer", async () => {
    const wish = { app: world.control.createApp().id, as: "MAIN" };
    world.partner.answers(NO);
    await world.control.install(wish);
    world.partner.answers(success);
    world.control.fault("> POST /resources", { reset: "after" });
    const { addon } = await world.control.install(wish);
    expect(addon.state).toBe("deprovisioned");
    await expect(world.control.install(wish)).rejects.toThrow(/already has an attachment/);
    expect((await world.control.redeliver(addon.id)).addon.state).toBe("provisioned");
    const { body } = await world.exchange(world.lastCode());
    const attachments = await world.call(body.access_token, `/addons/${addon.id}/addon-attachments`);
    expect(attachments.body).toMatchObject([{ name: "MAIN" }]);
  });

  it("ends with every code that was sent for it", async () => {
    only("POST", { status: 202, body: { id: "p-1", message: "Soon." } });
    const { addon } = await world.control.install();
    const code = world.lastCode();
    world.partner.answers(NO);
    expect((await world.control.redeliver(addon.id, { newCode: true })).addon.state).toBe("deprovisioned");
    expect(await world.exchange(code)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  it("is not repaired by a later success, not even with a new code", async () => {
    world.partner.answers(NO);
    const { addon } = await world.control.install();
    world.partner.answers(success);
    const again = await world.control.redeliver(addon.id, { newCode: true });
    expect(again).toMatchObject({ addon: { state: "deprovisioned", config_vars: [] } });
    expect(again.response.complaints?.join()).toMatch(/had failed for good/);
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 400 });
    const changed = await world.control.changePlan(addon.id, "premium");
    expect(changed.addon.plan.name).toBe("widgets:basic");
    expect(changed.response.complaints?.join()).toMatch(/was refused/);
  });
});

it("an add-on that is installed while its app is being destroyed is deprovisioned too", async () => {
  const { id: app } = world.control.createApp();
  await world.control.install({ app });
  let late: Promise<unknown> | undefined;
  world.partner.answers(async (request) => {
    if (request.method === "DELETE") await (late ??= world.control.install({ app }));
    return success(request);
  });
  await world.control.destroyApp(app);
  const states = world.control.state().addons.map(({ state }) => state);
  expect(states).toEqual(["deprovisioned", "deprovisioned"]);
});

it("of two that destroy an app at once, one finds none", async () => {
  const { id: app } = world.control.createApp();
  await world.control.install({ app });
  const destroyed = await Promise.allSettled([1, 2].map(() => world.control.destroyApp(app)));
  expect(destroyed.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(destroyed).toContainEqual(
    expect.objectContaining({ reason: expect.objectContaining({ status: 404 }) }),
  );
});

describe("an uninstalled resource", () => {
  it("is not restored by a late or repeated answer to its provision", async () => {
    const arrive = holdDelays();
    world.control.fault("> POST /resources", { delayMs: 50 });
    const late = world.control.install();
    const { id } = world.control.state().addons[0]!;
    only("DELETE", BUSY);
    expect((await world.control.deprovision(id)).addon.state).toBe("deprovisioning");
    arrive();
    expect(await late).toMatchObject({ addon: { state: "deprovisioning" }, response: { status: 200 } });
    expect((await world.control.redeliver(id)).addon.state).toBe("deprovisioning");
    world.partner.answers(success);
    expect((await world.control.deprovision(id)).addon.state).toBe("deprovisioned");
  });

  it("is not restored either if its provision was never answered and its deprovision not confirmed", async () => {
    world.control.fault("> POST /resources", { reset: "after" });
    const { addon } = await world.control.install();
    only("DELETE", BUSY);
    expect((await world.control.deprovision(addon.id)).addon.state).toBe("deprovisioning");
    expect((await world.control.redeliver(addon.id)).addon.state).toBe("deprovisioning");
  });

  it("should answer only 410: the sandbox complains of a success and ignores it", async () => {
    const { addon } = await world.control.install();
    expect((await world.control.deprovision(addon.id)).response.complaints).toBeUndefined();
    const before = stateOf(addon.id);
    only("PUT", { status: 200, body: { message: "Changed.", config: { WIDGET_TOKEN: "t" } } });
    const answers = [
      await world.control.changePlan(addon.id, "premium"),
      await world.control.deprovision(addon.id),
      await world.control.redeliver(addon.id),
    ];
    for (const { response } of answers) expect(response.complaints?.join()).toMatch(/should be 410/);
    expect(stateOf(addon.id)).toEqual(before);
  });
});

describe("a provision that its service has reported as failed", () => {
  const reported = async () => {
    only("POST", { status: 202, body: { id: "p-1", message: "Soon." } });
    const { addon, token } = await world.installed();
    await world.call(token, `/addons/${addon.id}/actions/deprovision`, { method: "POST" });
    expect(stateOf(addon.id).state).toBe("deprovisioned");
    return addon;
  };

  it.each([
    ["refused", NO],
    ["answered as before", { status: 202, body: { id: "p-1", message: "Soon." } }],
    ["gone", { status: 410, body: { id: "gone", message: "It is gone." } }],
  ])("may be %s when its request is repeated", async (_what, answer) => {
    const { id } = await reported();
    only("POST", answer);
    const { addon, response } = await world.control.redeliver(id);
    expect([addon.state, response.complaints]).toEqual(["deprovisioned", undefined]);
  });

  it("should be answered 410 after the service has confirmed the deprovision", async () => {
    const { id } = await reported();
    expect((await world.control.deprovision(id)).response.complaints).toBeUndefined();
    expect((await world.control.redeliver(id)).response.complaints?.join()).toMatch(/should be 410/);
    only("POST", NO);
    expect((await world.control.redeliver(id)).response.complaints?.join()).toMatch(/answered with 422/);
  });
});
