import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { aWorld, eventually, type World } from "./support/world.ts";

let world: World;
beforeAll(async () => {
  world = await aWorld();
});
afterAll(() => world.close());

describe("a provision", () => {
  it("is answered with the config vars, then the grant is exchanged and the tokens sealed", async () => {
    const { addon, response } = await world.sandbox.control.install({ plan: "basic" });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id: addon.id, config: { TEAPOT_URL: expect.any(String) } });
    await eventually(async () => {
      const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [addon.id]);
      expect(row).toEqual({ state: "active" });
    });
  });
});
