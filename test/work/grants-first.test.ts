import { aGate } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

let held: Promise<void> | null = null;
const life = opened(() =>
  aLifecycle({
    parts: {
      wrapTokenEndpoint: ({ exchange, refresh }) => ({
        refresh,
        async exchange(...given) {
          await held;
          return exchange(...given);
        },
      }),
    },
  }),
);

it("while many grants are exchanged no step is begun, and then those that fell due are", async () => {
  const uuid = await life.settled();
  const gate = aGate();
  held = gate.opened;
  const installs = Array.from({ length: 20 }, () => life.control.install({ plan: "basic" }));
  const others = (await Promise.all(installs)).map(({ addon }) => addon.id);
  const { exchanges, work } = life.world.service.services;
  await eventually(() => exchanges.underWay() === others.length);
  await life.control.deprovision(uuid);
  expect(await work.runDue("vendor", AbortSignal.timeout(300))).toBe(0);
  expect(life.vendor.callsOf(uuid, "deprovision")).toEqual([]);
  gate.open();
  await life.world.quiet(others);
  await eventually(() => life.vendor.callsOf(uuid, "deprovision").length === 1);
});
