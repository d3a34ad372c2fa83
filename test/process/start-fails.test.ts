import { createServer, type AddressInfo, type Server } from "node:net";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { aWorld, type World } from "../support/world.ts";

let world: World;
let neighbour: Server;
beforeAll(async () => {
  world = await aWorld();
  await world.service.stop();
  neighbour = createServer().listen(0);
});
afterAll(async () => {
  neighbour.close();
  await world.close();
});

// The programs of the kit exit; a vendor's own tests go on.
it("A web process that finds its port taken closes its database and the service of the vendor", async () => {
  let database: Database | undefined;
  let closed = 0;
  const { port } = neighbour.address() as AddressInfo;
  const config = teapotConfig({ ...world.environment, PORT: String(port) });
  const failed = runWeb(config, {
    ...teapotParts,
    vendor: { ...teapots, close: async () => void closed++ },
    wrapDatabase: (opened) => (database = opened),
  });
  await expect(failed).rejects.toThrow(`Port ${port} is in use`);
  await expect(database!.ping()).rejects.toThrow();
  expect(closed).toBe(1);
});
