import { jest } from "@jest/globals";
import { closeAll } from "../../src/within.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aGate } from "../support/a-vendor.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { aWorld, opened } from "../support/world.ts";

const world = opened(() => aWorld());
beforeAll(async () => {
  // The test has a service of its own, because it cannot be stopped twice.
  await world.service.stop();
});

it("A part that cannot be stopped keeps no other from it: what was sent is stored, and every failure is told", async () => {
  const sent = aGate();
  const line = aGate();
  const lines: string[] = [];
  const close = () => Promise.reject(new Error("the vendor's connections are gone"));
  const service = await runWeb(teapotConfig(world.environment), {
    ...teapotParts,
    vendor: { ...teapots, close },
    logTo: { write: (written) => void lines.push(written) },
    wrapTokenEndpoint: (endpoint) => ({
      ...endpoint,
      async exchange(...grant) {
        sent.open();
        await line.opened;
        return endpoint.exchange(...grant);
      },
    }),
  });
  await service.ready;
  world.sandbox.control.partner({ partnerUrl: service.url! });
  const { addon } = await world.sandbox.control.install({ plan: "basic" });
  await sent.opened;

  const { jobs, db } = service.services;
  jest.spyOn(jobs, "stop").mockRejectedValueOnce(new Error("the timetable cannot be ended"));
  const stopped = service.stop();
  line.open();
  await expect(stopped).rejects.toThrow("the timetable cannot be ended");
  const stored = await world.rows("SELECT state FROM credentials WHERE uuid = $1", [addon.id]);
  expect(stored).toEqual([{ state: "active" }]);
  await expect(db.ping()).rejects.toThrow();
  expect(lines.join("")).toContain("the vendor's connections are gone");
});

it("What is closed in order, or at the same time, is closed to the last; the first failure is thrown, the others are reported", async () => {
  const done: string[] = [];
  const told: unknown[] = [];
  const closers = ["a", "b", "c", "d"].map((name) => async () => {
    await new Promise(setImmediate);
    if (name === "d") await new Promise(setImmediate);
    done.push(name);
    if (name !== "c") throw name;
  });
  for (const steps of [closers, [closers]]) {
    [done.length, told.length] = [0, 0];
    await expect(closeAll(steps, (failure) => told.push(failure))).rejects.toBe("a");
    expect({ done, told }).toEqual({ done: ["a", "b", "c", "d"], told: ["b", "d"] });
  }
});
