// An operator sets or pushes config vars while a plan change tells the platform other ones.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { diffConfig, isDifferent } from "../src/operator/config-diff.ts";
import { pushShown } from "../src/operator/config-push.ts";
import { setConfig } from "../src/operator/config-vars.ts";
import type { PlatformFor } from "../src/resources/platform-for.ts";
import type { Services } from "../src/services.ts";
import { aLifecycle, type LifecycleWorld } from "./support/lifecycle.ts";
import { eventually } from "./support/world.ts";

let life: LifecycleWorld;
let services: Services;
let uuid: string;
beforeAll(async () => {
  life = await aLifecycle();
  services = life.world.service.services;
}, 60_000);
afterAll(() => life.world.close());
beforeEach(async () => {
  uuid = await life.settled("basic");
});

const url = async () =>
  (await services.platformFor(uuid).config.get()).find(({ name }) => name === "TEAPOT_URL")?.value;

async function changePlan(): Promise<void> {
  await life.control.changePlan(uuid, "premium");
  await eventually(async () => expect(await life.steps(uuid)).toEqual([]));
}

/** A client whose first update comes while a plan change is carried out: before it reaches the platform, or after. */
function overtaken(at: "before" | "after"): PlatformFor {
  let isFirst = true;
  return (wanted) => {
    const platform = services.platformFor(wanted);
    const update: typeof platform.config.update = async (vars) => {
      const here = isFirst;
      isFirst = false;
      if (here && at === "before") await changePlan();
      const answer = await platform.config.update(vars);
      if (here && at === "after") await changePlan();
      return answer;
    };
    return { ...platform, config: { ...platform.config, update } };
  };
}

describe("a plan change that comes first", () => {
  it("is not undone on the platform by a push of what was wanted before it", async () => {
    const before = await url();
    await services.platformFor(uuid).config.update([{ name: "TEAPOT_URL", value: null }]);
    const { vars } = await diffConfig(services, uuid);
    const needs = { ...services, platformFor: overtaken("before") };
    expect(await pushShown(needs, uuid, { shown: vars, overwrite: [] })).toEqual(["TEAPOT_URL"]);
    expect(await url()).not.toBe(before);
    expect(isDifferent((await diffConfig(services, uuid)).vars)).toBe(false);
  }, 30_000);
});

describe("a plan change that comes between", () => {
  it("leaves the platform with what an operator set, as it is kept here", async () => {
    const needs = { ...services, platformFor: overtaken("after") };
    const value = "https://by-hand.example";
    await setConfig(needs, uuid, [{ name: "TEAPOT_URL", value }]);
    expect(await url()).toBe(value);
    expect(isDifferent((await diffConfig(services, uuid)).vars)).toBe(false);
  }, 30_000);
});
