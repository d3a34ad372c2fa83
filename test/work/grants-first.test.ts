import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

const life = opened(() => aLifecycle());

it("while many grants are exchanged no step is begun, and then those that fell due are", async () => {
  const before = await life.settled();
  life.control.fault("POST /oauth/token", { delayMs: 1_500 }, 20);
  const installs = Array.from({ length: 20 }, () => life.control.install({ plan: "basic" }));
  const uuids = (await Promise.all(installs)).map(({ addon }) => addon.id);
  await eventually(() => life.world.service.services.exchanges.underWay() > 16);
  const active = async () =>
    (
      await life.world.rows(
        `SELECT FROM credentials WHERE state = 'active' AND uuid = ANY(string_to_array($1, ',')::uuid[])`,
        [uuids.join()],
      )
    ).length;
  let atTheStep = -1;
  life.vendor.next("deprovision", async () => void (atTheStep = await active()));
  await life.control.deprovision(before);
  await eventually(() => atTheStep >= 0);
  expect(atTheStep).toBeGreaterThan(0);
  await life.world.quiet(uuids);
});
