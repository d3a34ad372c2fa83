import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { VendorResource, YourService } from "../../src/resources/contract.ts";
import { teapots } from "../support/teapots/index.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

let world: World;
let bought: VendorResource;
const vendor: YourService = {
  ...teapots,
  provision: (resource) => teapots.provision((bought = resource)),
};
beforeAll(async () => {
  world = await aWorld({ parts: { vendor } });
});
afterAll(() => world.close());

describe("POST /resources", () => {
  it("is answered with the config vars, then the grant is exchanged and the tokens encrypted", async () => {
    const { addon, response } = await world.sandbox.control.install({ plan: "basic" });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: addon.id, config: { TEAPOT_URL: expect.any(String) } });
    await eventually(async () => {
      const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [addon.id]);
      expect(row).toEqual({ state: "active" });
    });
  });

  it("gives the service uuid, name, plan, region and options", async () => {
    const options = { size: "2", verbose: true };
    const { addon } = await world.sandbox.control.install({ plan: "premium", options });
    expect(bought).toMatchObject({
      uuid: addon.id,
      name: addon.name,
      plan: "premium",
      region: "us",
      options,
    });
  });
});
