import { setTimeout as sleep } from "node:timers/promises";
import { runWorker } from "../../src/process/run-worker.ts";
import { aVendor } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened } from "../support/world.ts";

// With WEB_JOBS=off a web process only answers requests. Put-off functions of the vendor, which may take long, run in
// workers.

const atWorker = aVendor();
const life = opened(() => aLifecycle({ environment: { WEB_JOBS: "off" } }));

it("a web process with WEB_JOBS=off exchanges grants and finds apps; a worker runs put-off functions and clean-ups", async () => {
  const { addon } = await life.control.install({ plan: "dedicated" });
  const gone = await life.control.install({ plan: "basic" });
  for (const uuid of [addon.id, gone.addon.id])
    await eventually(async () => expect(await life.events(uuid)).toContain("apps_found"));
  await life.control.deprovision(gone.addon.id);
  // Work that an exchange or a deprovision makes due is looked for within a moment.
  await sleep(1_000);
  expect(await life.steps(addon.id)).toEqual(["finish"]);
  expect(await life.steps(gone.addon.id)).toEqual(["clean_up"]);

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
  expect(life.vendor.calls.map(({ what }) => what)).toEqual(["provision"]);
});
