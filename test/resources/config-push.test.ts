import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

let life: LifecycleWorld;
beforeAll(async () => {
  life = await aLifecycle();
});
afterAll(() => life.world.close());
afterEach(() => life.control.clearFaults());

it.each<[string, FaultAction]>([
  ["after it was done", { reset: "after" }],
  ["before anything was done", { reset: "before" }],
  ["in the middle of its answer", { truncate: true }],
  ["by a 503", { status: 503 }],
])(
  "config vars are right in the end when a PATCH failed %s, and no vendor's function is repeated",
  async (_, fault) => {
    life.control.fault("PATCH /addons/*/config", fault, 2);
    const { addon } = await life.control.install({ plan: "dedicated" });
    await eventually(async () => expect((await life.resource(addon.id))?.state).toBe("provisioned"));
    const known = await life.world.service.services.platformFor(addon.id).config.get();
    const sent = life.patchesOf(addon.id).at(-1)!;
    expect(Object.fromEntries(known.map(({ name, value }) => [name, value]))).toEqual(
      Object.fromEntries(sent.config.map(({ name, value }) => [name, value])),
    );
    expect(life.vendor.callsOf(addon.id, "finish")).toHaveLength(1);
  },
);
