// What is over for a resource stays over, whatever its service answers later; and the names it had are free.

import { type PartnerAnswer, success } from "./partner.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld({ partnerTimeoutMs: 2_000 })));
afterEach(() => world.close());

const NO: PartnerAnswer = { status: 422, body: { id: "no", message: "Sold out." } };

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
