import { setTimeout as sleep } from "node:timers/promises";
import { jest } from "@jest/globals";
import { runWeb } from "../../src/process/run-web.ts";
import { runWorker } from "../../src/process/run-worker.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate, aVendor } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

const life = opened(() => aLifecycle());

it("a part that cannot be stopped keeps no other from it: what was sent is stored, and every failure is told", async () => {
  const sent = aGate();
  const line = aGate();
  await life.world.service.stop();
  const lines: string[] = [];
  const service = await runWeb(teapotConfig({ ...life.world.environment, PORT: "0" }), {
    ...teapotParts,
    vendor: { ...teapots, close: () => Promise.reject(new Error("the vendor's connections are gone")) },
    logTo: { write: (line) => void lines.push(line) },
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
  expect(lines.join("")).toContain("the vendor's connections are gone");
});

it("a stop waits for a vendor's function that outlasts its answer, after the last request", async () => {
  await life.world.restart({ parts: { pace: { ...QUICK, vendorMs: 300 } } });
  const gate = aGate();
  life.vendor.nextAfter("provision", gate.opened);
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

it("a web process with WEB_JOBS=off exchanges grants and finds apps; a worker runs put-off functions and clean-ups", async () => {
  const calls = life.vendor.calls.length;
  await life.world.restart({ environment: { WEB_JOBS: "off" } });
  const { addon } = await life.control.install({ plan: "dedicated" });
  const gone = await life.control.install({ plan: "basic" });
  for (const uuid of [addon.id, gone.addon.id])
    await eventually(async () => expect(await life.events(uuid)).toContain("apps_found"));
  await life.control.deprovision(gone.addon.id);
  const left = async () => [await life.steps(addon.id), await life.steps(gone.addon.id)];
  await eventually(async () => expect(await left()).toEqual([["finish"], ["clean_up"]]));
  // Work that an exchange or a deprovision makes due is looked for within a moment.
  await sleep(1_000);
  expect(await left()).toEqual([["finish"], ["clean_up"]]);

  const atWorker = aVendor();
  const worker = await runWorker(teapotConfig(life.world.environment), {
    ...teapotParts,
    vendor: atWorker,
    logTo: { write: () => undefined },
  });
  try {
    await worker.ready;
    await life.world.quiet([addon.id]);
    await life.nothingLeft(gone.addon.id);
  } finally {
    await worker.stop();
  }
  expect(atWorker.calls.map(({ what, uuid }) => [what, uuid]).sort()).toEqual([
    ["deprovision", gone.addon.id],
    ["finish", addon.id],
  ]);
  expect(life.vendor.calls.slice(calls).map(({ what }) => what)).toEqual(["provision"]);
});
