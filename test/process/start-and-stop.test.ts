import { createServer, type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { jest } from "@jest/globals";
import type { Database } from "../../src/database/database.ts";
import type { Parts } from "../../src/open-context.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aGate } from "../support/a-vendor.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

const life = opened(() => aLifecycle({ parts: { pace: { ...QUICK, vendorMs: 300 } } }));
const neighbour = createServer();
beforeAll(() => void neighbour.listen(0));
afterAll(() => void neighbour.close());

/** Starts a web process of its own, whose vendor's service is closed by `close`. */
function starting(close: () => Promise<void>, port: number, parts: Partial<Parts> = {}) {
  const lines: string[] = [];
  const seen: { database?: Database } = {};
  const started = runWeb(teapotConfig({ ...life.world.environment, PORT: String(port) }), {
    ...teapotParts,
    vendor: { ...teapots, close },
    wrapDatabase: (database) => (seen.database = database),
    logTo: { write: (line) => void lines.push(line) },
    ...parts,
  });
  return { started, seen, logged: () => lines.join("") };
}

it("a web process that finds its port taken closes its database and the vendor's service, and does not wait for it", async () => {
  const closing = aGate();
  let asked = 0;
  const { port } = neighbour.address() as AddressInfo;
  const { started, seen, logged } = starting(async () => {
    asked += 1;
    await closing.opened;
    throw new Error("The door is stuck.");
  }, port);
  await expect(started).rejects.toThrow(/^PORT cannot be used: listen EADDRINUSE: .*\. Choose another\.$/);
  expect(logged()).not.toContain('"Ready"');
  closing.open();
  await eventually(() => expect(logged()).toContain("A part could not be closed"));
  await expect(seen.database!.ping()).rejects.toThrow();
  expect(asked).toBe(1);
});

it("a part that cannot be stopped keeps no other from it: what was sent is stored, and every failure is told", async () => {
  const sent = aGate();
  const line = aGate();
  await life.world.service.stop();
  const close = () => Promise.reject(new Error("the vendor's connections are gone"));
  const { started, logged } = starting(close, 0, {
    wrapTokenEndpoint: (endpoint) => ({
      ...endpoint,
      async exchange(...grant) {
        sent.open();
        await line.opened;
        return endpoint.exchange(...grant);
      },
    }),
  });
  const service = await started;
  await service.ready;
  life.control.partner({ partnerUrl: service.url! });
  const { addon } = await life.control.install({ plan: "basic" });
  await sent.opened;

  const { jobs, db } = service.services;
  jest.spyOn(jobs, "stop").mockRejectedValueOnce(new Error("the timetable cannot be ended"));
  const stopped = service.stop();
  line.open();
  await expect(stopped).rejects.toThrow("the timetable cannot be ended");
  expect(await life.credential(addon.id)).toMatchObject({ state: "active" });
  await expect(db.ping()).rejects.toThrow();
  expect(logged()).toContain("the vendor's connections are gone");
});

it("a stop waits for a vendor's function that outlasts its answer, after the last request", async () => {
  await life.world.restart();
  const gate = aGate();
  life.vendor.next("provision", async (resource) => {
    await gate.opened;
    return teapots.provision(resource);
  });
  const request = aProvisionRequest();
  const answer = life.platform.provision(request);
  await eventually(() => life.vendor.callsOf(request.uuid, "provision").length === 1);
  const stopped = life.world.service.stop();
  expect((await answer).status).toBe(202);
  await sleep(500);
  gate.open();
  await stopped;
  await life.world.restart();
  expect(await life.steps(request.uuid)).toEqual(["announce"]);
  expect(life.vendor.callsOf(request.uuid, "provision")).toHaveLength(1);
});
