import { createServer, type AddressInfo, type Server } from "node:net";
import type { Database } from "../../src/database/database.ts";
import { openContext } from "../../src/open-context.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aGate } from "../support/a-vendor.ts";
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

it("A taken port is told of although the service of the vendor hangs as it is closed, or cannot be", async () => {
  const closing = aGate();
  const { database, logged } = await startInVain(async () => {
    await closing.opened;
    throw new Error("The door is stuck.");
  });
  expect(logged()).not.toContain('"Ready"');
  closing.open();
  await eventually(() => expect(logged()).toContain("A part could not be closed"));
  await expect(database.ping()).rejects.toThrow();
});

it("A vendor's service that cannot be closed at a stop is told of, and the database is closed", async () => {
  let database: Database | undefined;
  const close = () => Promise.reject(new Error("The door is stuck."));
  const ctx = await openContext(teapotConfig(world.environment), {
    ...teapotParts,
    vendor: { ...teapots, close },
    wrapDatabase: (opened) => (database = opened),
  });
  await expect(ctx.close()).rejects.toThrow("The door is stuck.");
  await expect(database!.ping()).rejects.toThrow();
});
