import { createServer, type AddressInfo, type Server } from "node:net";
import type { Database } from "../../src/database/database.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

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

/** Starts a web process on a port that is taken. (The kit's programs exit then; a vendor's own tests go on.) */
async function startInVain(
  close: () => Promise<void>,
): Promise<{ database: Database; logged: () => string }> {
  const { port } = neighbour.address() as AddressInfo;
  let database: Database | undefined;
  const lines: string[] = [];
  const started = runWeb(teapotConfig({ ...world.environment, PORT: String(port) }), {
    ...teapotParts,
    vendor: { ...teapots, close },
    wrapDatabase: (opened) => (database = opened),
    logTo: { write: (line) => void lines.push(line) },
  });
  await expect(started).rejects.toThrow(/^PORT cannot be used: listen EADDRINUSE: .*\. Choose another\.$/);
  return { database: database!, logged: () => lines.join("") };
}

it("A web process that finds its port taken closes its database and the service of the vendor", async () => {
  let closed = 0;
  const { database } = await startInVain(async () => void closed++);
  await eventually(() => expect(database.ping()).rejects.toThrow());
  expect(closed).toBe(1);
});
