import type { VendorResource } from "../../src/resources/contract.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { offer } from "../support/teapots/plans.ts";
import { eventually, opened } from "../support/world.ts";

const limits = { provision: 1, changePlan: 1, finish: 1, deprovision: 1 };

const life = opened(() => aLifecycle({ parts: { offer: { ...offer, limits } } }));

it.each([
  ["provision", async () => (await life.control.install({ plan: "basic" })).addon.id],
  ["finish", async () => (await life.control.install({ plan: "dedicated" })).addon.id],
  ["changePlan", async () => changed(await life.settled())],
  ["deprovision", async () => ended(await life.settled())],
] as const)(
  "a call of %s that passes its limit is cut off, and made again as one that failed",
  async (what, begin) => {
    let signal: AbortSignal | undefined;
    life.vendor.next(
      what,
      (resource: VendorResource) => ((signal = resource.signal), new Promise<never>(() => undefined)),
    );
    const uuid = await begin();
    await eventually(() => expect(life.vendor.callsOf(uuid, what).length).toBe(2));
    expect(signal!.reason).toMatchObject({ id: "took_too_long" });
    expect(life.world.logged()).toContain(`The service's ${what}() was cut off after 1 s, its limit`);
    await life.nothingLeft(uuid);
  },
);

const changed = async (uuid: string) => (await life.control.changePlan(uuid, "premium"), uuid);
const ended = async (uuid: string) => (await life.control.deprovision(uuid), uuid);
