// docs/upgrade.md, "A release that changes what you sell": releases, one after the other, of a service with customers.

import { diffConfig, pushConfig } from "../../src/operator/config-vars.ts";
import { addonManifest } from "../../src/resources/check-offer.ts";
import type { Offer } from "../../src/resources/contract.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { offer } from "../support/teapots/plans.ts";
import { eventually } from "../support/world.ts";

const NEW = "TEAPOT_COLOUR";
const withNew: Offer = { ...offer, configVars: [...offer.configVars, NEW] };
const withoutToken: Offer = { ...offer, configVars: ["TEAPOT_URL"] };

let life: LifecycleWorld;
beforeEach(async () => {
  life = await aLifecycle();
});
afterEach(() => life.world.close());

const release = (sold: Offer) => life.world.restart({ parts: { offer: sold, vendor: life.vendor } });
const tellPlatform = (sold: Offer) => life.control.partner({ addonManifest: addonManifest("teapots", sold) });
const needs = () => life.world.service.services;
const done = (config: Record<string, string>) => () => Promise.resolve({ config });
const blue = done({ TEAPOT_URL: "https://teapots.example/1", TEAPOT_TOKEN: "one", [NEW]: "blue" });
const urlAlone = done({ TEAPOT_URL: "https://teapots.example/1" });

async function onPlatform(uuid: string): Promise<string[]> {
  return (await needs().platformFor(uuid).config.get()).map(({ name }) => name).sort();
}

describe("a new config var", () => {
  it("that the platform's manifest lacks is left out of an answer, and delays a put-off provision until it is there", async () => {
    await release(withNew);
    life.vendor.next("provision", blue);
    const { addon: atOnce, response } = await life.control.install({ plan: "basic" });
    await life.world.quiet([atOnce.id]);
    expect(await onPlatform(atOnce.id)).not.toContain(NEW);
    expect(response.complaints?.join()).toContain(`${NEW} is not declared`);

    life.vendor.next("finish", blue);
    const { addon: later } = await life.control.install({ plan: "dedicated" });
    const refused = () =>
      life
        .entries()
        .filter(({ path, response }) => path === `/addons/${later.id}/config` && response?.status === 422);
    await eventually(() => refused().length > 0);
    expect(await life.steps(later.id)).toContain("announce");

    tellPlatform(withNew);
    await eventually(async () => {
      await life.hurry(later.id);
      return (await life.resource(later.id))?.state === "provisioned";
    });
    expect(await onPlatform(later.id)).toContain(NEW);
    // What was left out is known to be wanted, so it is reported as missing and can be pushed.
    const vars = await diffConfig(needs(), atOnce.id);
    expect(vars).toContainEqual(expect.objectContaining({ name: NEW, state: "missing" }));
    expect(await pushConfig(needs(), atOnce.id)).toEqual([NEW]);
  });
});

it("a config var that is no longer on offer stays with its resources until a plan change or a push removes it; a repeated answer always names it", async () => {
  const [changed, pushed] = [await life.settled(), await life.settled()];
  await release(withoutToken);
  expect(await onPlatform(pushed)).toContain("TEAPOT_TOKEN");

  life.vendor.next("changePlan", urlAlone);
  await life.control.changePlan(changed, "premium");
  await eventually(async () => !(await onPlatform(changed)).includes("TEAPOT_TOKEN"));

  const vars = await diffConfig(needs(), pushed);
  expect(vars).toContainEqual(expect.objectContaining({ name: "TEAPOT_TOKEN", state: "extra" }));
  await pushConfig(needs(), pushed);
  expect(await onPlatform(pushed)).toEqual(["TEAPOT_URL"]);

  expect((await life.control.redeliver(pushed)).response).not.toHaveProperty("complaints");
  tellPlatform(withoutToken);
  const { response } = await life.control.redeliver(pushed);
  expect(response.complaints?.join()).toContain("TEAPOT_TOKEN is not declared");
});

it("a plan that is no longer on offer is refused to new customers, and stays valid for existing ones", async () => {
  const uuid = await life.settled("premium");
  const { premium: _, ...plans } = offer.plans;
  const sold = { ...offer, plans };
  await release(sold);
  const provisions = life.vendor.callsOf(uuid, "provision").length;
  expect((await life.control.redeliver(uuid)).response.status).toBe(200);
  expect(life.vendor.callsOf(uuid, "provision")).toHaveLength(provisions);
  await life.control.changePlan(uuid, "basic");
  expect((await life.resource(uuid))?.plan).toBe("basic");
  expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(422);
});
