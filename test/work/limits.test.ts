import type { VendorResource } from "../../src/resources/contract.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { offer } from "../support/teapots/plans.ts";
import { eventually, opened } from "../support/world.ts";

const limits = { provision: 1, changePlan: 1, finish: 1, deprovision: 1 };
const life = opened(() => aLifecycle({ parts: { offer: { ...offer, limits } } }));

it("a call of a function that passes its limit is cut off, and made again as one that failed", async () => {
  const [changed, ended] = [await life.settled(), await life.settled()];
  const signals = new Map<string, AbortSignal>();
  const hangs = (resource: VendorResource) => (
    signals.set(resource.uuid, resource.signal),
    new Promise<never>(() => undefined)
  );
  const whats = ["provision", "finish", "changePlan", "deprovision"] as const;
  for (const what of whats) life.vendor.next(what, hangs);
  const [made, finished] = await Promise.all([
    life.control.install({ plan: "basic" }),
    life.control.install({ plan: "dedicated" }),
    life.control.changePlan(changed, "premium"),
    life.control.deprovision(ended),
  ]);
  for (const [index, uuid] of [made.addon.id, finished.addon.id, changed, ended].entries()) {
    const what = whats[index]!;
    await eventually(() => expect(life.vendor.callsOf(uuid, what)).toHaveLength(2));
    expect(signals.get(uuid)!.reason).toMatchObject({ id: "took_too_long" });
    expect(life.world.logged()).toContain(`The service's ${what}() was cut off after 1 s, its limit`);
    await life.nothingLeft(uuid);
  }
});
