// What is over for a resource stays over, whatever its service answers later; and the names it had are free.

import { type PartnerAnswer, success } from "./partner.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld({ partnerTimeoutMs: 2_000 })));
afterEach(() => world.close());

const NO: PartnerAnswer = { status: 422, body: { id: "no", message: "Sold out." } };
const BUSY: PartnerAnswer = { status: 500, body: { id: "busy", message: "Busy." } };
const only = (method: string, answer: PartnerAnswer) =>
  world.partner.answers((request) => (request.method === method ? answer : success(request)));

describe("a provision that was refused", () => {
  it("leaves the app, and its name there to the next; one that was not answered keeps it", async () => {
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
});

describe("an uninstall", () => {
  it("is not undone by a provision that is answered late, or again", async () => {
    world.control.fault("> POST /resources", { delayMs: 100 });
    const late = world.control.install();
    const { id } = world.control.state().addons[0]!;
    only("DELETE", BUSY);
    expect((await world.control.deprovision(id)).addon.state).toBe("deprovisioning");
    expect(await late).toMatchObject({ addon: { state: "deprovisioning" }, response: { status: 200 } });
    expect((await world.control.redeliver(id)).addon.state).toBe("deprovisioning");
    world.partner.answers(success);
    expect((await world.control.deprovision(id)).addon.state).toBe("deprovisioned");
  });
});
