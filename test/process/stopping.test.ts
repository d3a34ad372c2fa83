import { setTimeout as sleep } from "node:timers/promises";
import { aGate } from "../support/a-vendor.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

const life = opened(() => aLifecycle({ parts: { pace: { ...QUICK, vendorMs: 300 } } }));

it("a stop waits for a vendor's function that outlasts its answer, after the last request", async () => {
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
