// An operator sets or pushes config vars while a plan change sets other ones at the platform.

import { diffConfig, differing, pushConfig, setConfig } from "../../src/operator/config-vars.ts";
import type { PlatformFor } from "../../src/platform/api.ts";
import type { OpenContext } from "../../src/context.ts";
import { lockedResource } from "../../src/resources/store.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

let services: OpenContext;
let uuid: string;
const life = opened(() => aLifecycle());
beforeAll(async () => {
  services = life.world.service.services;
});
beforeEach(async () => {
  uuid = await life.settled("basic");
});

const url = async () =>
  (await services.platformFor(uuid).config.get()).find(({ name }) => name === "TEAPOT_URL")?.value;

async function changePlan(): Promise<void> {
  await life.control.changePlan(uuid, "premium");
  await life.nothingLeft(uuid);
}

/** A client whose first update happens during a plan change or other work: before or after it. */
function overtaken(at: "before" | "after", by: () => Promise<unknown> = changePlan): PlatformFor {
  let isFirst = true;
  return (wanted) => {
    const platform = services.platformFor(wanted);
    const update: typeof platform.config.update = async (vars) => {
      const here = isFirst;
      isFirst = false;
      if (here && at === "before") await by();
      const answer = await platform.config.update(vars);
      if (here && at === "after") await by();
      return answer;
    };
    return { ...platform, config: { ...platform.config, update } };
  };
}

const setToo = () =>
  setConfig(services, uuid, [{ name: "TEAPOT_URL", value: "https://of-the-other.example" }]);

it.each([
  ["a plan change", changePlan],
  ["another operator's kit config set", setToo],
])("%s during a push is not undone at the platform by the push of older values", async (_, by) => {
  const before = await url();
  await services.platformFor(uuid).config.update([{ name: "TEAPOT_URL", value: null }]);
  const needs = { ...services, platformFor: overtaken("before", by) };
  expect(await pushConfig(needs, uuid)).toEqual(["TEAPOT_URL"]);
  expect(await url()).not.toBe(before);
  expect(differing(await diffConfig(services, uuid))).toEqual([]);
});

it("a var that is set while another one is being stored is kept, as is the other", async () => {
  const vars = ["TEAPOT_URL", "TEAPOT_TOKEN"].map((name) => ({ name, value: `https://of-${name}.example` }));
  let both: Promise<unknown> = Promise.resolve();
  await services.db.transaction(async (tx) => {
    await lockedResource(tx, uuid);
    both = Promise.all(vars.map((each) => setConfig(services, uuid, [each])));
    // Both have changed the platform, and wait for the row.
    await eventually(async () =>
      expect(await life.world.rows(`SELECT 1 FROM pg_locks WHERE NOT granted`)).toHaveLength(2),
    );
  });
  await both;
  expect(await services.platformFor(uuid).config.get()).toEqual(expect.arrayContaining(vars));
  expect(differing(await diffConfig(services, uuid))).toEqual([]);
});

it.each([
  ["a plan change", changePlan],
  ["another operator's push", () => pushConfig(services, uuid)],
])(
  "%s during kit config set leaves the operator's value both at the platform and in the database",
  async (_, by) => {
    const needs = { ...services, platformFor: overtaken("after", by) };
    const value = "https://by-hand.example";
    await setConfig(needs, uuid, [{ name: "TEAPOT_URL", value }]);
    expect(await url()).toBe(value);
    expect(differing(await diffConfig(services, uuid))).toEqual([]);
  },
);

it("kit config set during a plan change is kept where the new plan changes nothing, and is stored here as at the platform", async () => {
  const config = { TEAPOT_URL: "https://alone.example" };
  life.vendor.next("provision", async () => ({ config }));
  uuid = await life.settled();
  const gate = aGate();
  const other = { TEAPOT_URL: "https://of-two.example" };
  life.vendor.next("changePlan", () => gate.opened.then(() => ({ config: other })));
  expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
  const byHand = { name: "TEAPOT_TOKEN", value: "by-hand" };
  await setConfig(services, uuid, [byHand, { name: "TEAPOT_URL", value: "https://of-nobody.example" }]);
  gate.open();
  await life.nothingLeft(uuid);
  expect(life.varsAt(uuid)).toEqual({ TEAPOT_TOKEN: "by-hand", TEAPOT_URL: "https://of-two.example" });
  expect(differing(await diffConfig(services, uuid))).toEqual([]);
});
