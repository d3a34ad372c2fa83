import { addonManifest } from "../../src/offer.ts";
import { diffConfig, differing, pushConfig, setConfig } from "../../src/operator/config-vars.ts";
import type { PlatformFor } from "../../src/platform/api.ts";
import type { Offer } from "../../src/resources/contract.ts";
import { failProvision } from "../../src/resources/end-store.ts";
import { lockedResource } from "../../src/resources/store.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { offer } from "../support/teapots/plans.ts";
import { eventually, opened } from "../support/world.ts";

// Config vars that an operator sets beside plan changes, and releases that change what is sold.

const life = opened(() => aLifecycle());
const services = () => life.world.service.services;

describe("an operator who sets or pushes config vars while a plan change sets other ones", () => {
  let uuid: string;
  beforeEach(async () => {
    uuid = await life.settled("basic");
  });

  const url = async () =>
    (await services().platformFor(uuid).config.get()).find(({ name }) => name === "TEAPOT_URL")?.value;

  async function changePlan(): Promise<void> {
    await life.control.changePlan(uuid, "premium");
    await life.nothingLeft(uuid);
  }

  /** A client whose first update happens during a plan change or other work: before or after it. */
  function overtaken(at: "before" | "after", by: () => Promise<unknown> = changePlan): PlatformFor {
    let isFirst = true;
    return (wanted) => {
      const platform = services().platformFor(wanted);
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
    setConfig(services(), uuid, [{ name: "TEAPOT_URL", value: "https://of-the-other.example" }]);

  it.each([
    ["a plan change", changePlan],
    ["another operator's kit config set", setToo],
  ])("%s during a push is not undone at the platform by the push of older values", async (_, by) => {
    const before = await url();
    await services()
      .platformFor(uuid)
      .config.update([{ name: "TEAPOT_URL", value: null }]);
    const needs = { ...services(), platformFor: overtaken("before", by) };
    expect(await pushConfig(needs, uuid)).toEqual(["TEAPOT_URL"]);
    expect(await url()).not.toBe(before);
    expect(differing(await diffConfig(services(), uuid))).toEqual([]);
  });

  it("a var that is set while another one is being stored is kept, as is the other", async () => {
    const vars = ["TEAPOT_URL", "TEAPOT_TOKEN"].map((name) => ({
      name,
      value: `https://of-${name}.example`,
    }));
    let both: Promise<unknown> = Promise.resolve();
    await services().db.transaction(async (tx) => {
      await lockedResource(tx, uuid);
      both = Promise.all(vars.map((each) => setConfig(services(), uuid, [each])));
      // Both have changed the platform, and wait for the row.
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await eventually(async () => expect(await life.world.rows(waiting)).toHaveLength(2));
    });
    await both;
    expect(await services().platformFor(uuid).config.get()).toEqual(expect.arrayContaining(vars));
    expect(differing(await diffConfig(services(), uuid))).toEqual([]);
  });

  it.each([
    ["a plan change", changePlan],
    ["another operator's push", () => pushConfig(services(), uuid)],
  ])(
    "%s during kit config set leaves the operator's value both at the platform and in the database",
    async (_, by) => {
      const needs = { ...services(), platformFor: overtaken("after", by) };
      const value = "https://by-hand.example";
      await setConfig(needs, uuid, [{ name: "TEAPOT_URL", value }]);
      expect(await url()).toBe(value);
      expect(differing(await diffConfig(services(), uuid))).toEqual([]);
    },
  );

  it("kit config set stores nothing of a provision that fails meanwhile", async () => {
    life.vendor.next("finish", async () => ({ later: "It takes all day.", againInSeconds: 3_600 }));
    uuid = (await life.control.install({ plan: "dedicated" })).addon.id;
    await eventually(() => expect(life.vendor.callsOf(uuid, "finish")).toHaveLength(1));
    const needs = { ...services(), platformFor: overtaken("after", () => failProvision(services(), uuid)) };
    const vars = [{ name: "TEAPOT_URL", value: "https://by-hand.example" }];
    await expect(setConfig(needs, uuid, vars)).rejects.toThrow("has no access token");
    const stored = `SELECT state, sealed_config AS config FROM resources WHERE uuid = $1`;
    expect(await life.world.rows(stored, [uuid])).toEqual([{ state: "failed", config: null }]);
  });

  it("kit config set during a plan change is kept where the new plan changes nothing, and is stored here as at the platform", async () => {
    const config = { TEAPOT_URL: "https://alone.example" };
    life.vendor.next("provision", async () => ({ config }));
    uuid = await life.settled();
    const gate = aGate();
    const other = { TEAPOT_URL: "https://of-two.example" };
    life.vendor.next("changePlan", () => gate.opened.then(() => ({ config: other })));
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
    const byHand = { name: "TEAPOT_TOKEN", value: "by-hand" };
    await setConfig(services(), uuid, [byHand, { name: "TEAPOT_URL", value: "https://of-nobody.example" }]);
    gate.open();
    await life.nothingLeft(uuid);
    expect(life.varsAt(uuid)).toEqual({ TEAPOT_TOKEN: "by-hand", TEAPOT_URL: "https://of-two.example" });
    expect(differing(await diffConfig(services(), uuid))).toEqual([]);
  });

  it("a var that is set while the platform waits for a plan change is in its answer, too", async () => {
    const config = { TEAPOT_URL: "https://alone.example" };
    life.vendor.next("provision", async () => ({ config }));
    uuid = await life.settled();
    life.vendor.next("changePlan", () => setToo().then(() => ({ config })));
    const { status, body } = (await life.control.changePlan(uuid, "premium")).response;
    expect([status, body]).toMatchObject([200, { config: { TEAPOT_URL: "https://of-the-other.example" } }]);
    await life.nothingLeft(uuid);
    expect(await url()).toBe("https://of-the-other.example");
  });
});

describe("releases, one after the other, of a service with customers (docs/upgrade.md)", () => {
  const NEW = "TEAPOT_COLOUR";
  const withNew: Offer = { ...offer, configVars: [...offer.configVars, NEW] };
  const withoutToken: Offer = { ...offer, configVars: ["TEAPOT_URL"] };

  const release = (sold: Offer) => life.world.restart({ parts: { offer: sold, vendor: life.vendor } });
  const tellPlatform = (sold: Offer) =>
    life.control.partner({ addonManifest: addonManifest("teapots", sold) });
  const done = (config: Record<string, string>) => () => Promise.resolve({ config });
  const blue = done({ TEAPOT_URL: "https://teapots.example/1", TEAPOT_TOKEN: "one", [NEW]: "blue" });
  const urlAlone = done({ TEAPOT_URL: "https://teapots.example/1" });

  beforeEach(async () => {
    await release(offer);
    tellPlatform(offer);
  });

  async function onPlatform(uuid: string): Promise<string[]> {
    return (await services().platformFor(uuid).config.get()).map(({ name }) => name).sort();
  }

  it("a new config var that the platform's manifest lacks is left out of an answer, and delays a put-off provision until it is there", async () => {
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
    const vars = await diffConfig(services(), atOnce.id);
    expect(vars).toContainEqual(expect.objectContaining({ name: NEW, state: "missing" }));
    expect(await pushConfig(services(), atOnce.id)).toEqual([NEW]);
  });

  it("a config var that is no longer on offer stays with its resources until a plan change or a push removes it; a repeated answer always names it", async () => {
    const [changed, pushed] = [await life.settled(), await life.settled()];
    await release(withoutToken);
    expect(await onPlatform(pushed)).toContain("TEAPOT_TOKEN");

    life.vendor.next("changePlan", urlAlone);
    await life.control.changePlan(changed, "premium");
    await eventually(async () => !(await onPlatform(changed)).includes("TEAPOT_TOKEN"));

    const vars = await diffConfig(services(), pushed);
    expect(vars).toContainEqual(expect.objectContaining({ name: "TEAPOT_TOKEN", state: "extra" }));
    await pushConfig(services(), pushed);
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

  it("a retired plan is not in the manifest and cannot be bought; who has it keeps it, and may leave it", async () => {
    const uuid = await life.settled("premium");
    const premium = { ...offer.plans["premium"]!, retired: true };
    const sold = { ...offer, plans: { ...offer.plans, premium } };
    expect(addonManifest("teapots", sold).plans.map(({ name }) => name)).toEqual(["basic", "dedicated"]);
    await release(sold);
    expect((await life.control.redeliver(uuid)).response.status).toBe(200);
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(200);
    const words = 'The plan "premium" is no longer sold. Plans: basic, dedicated.';
    const refused = { status: 422, body: { id: "unknown_plan", message: words } };
    expect((await life.control.install({ plan: "premium" })).response).toMatchObject(refused);
    await life.control.changePlan(uuid, "basic");
    await life.nothingLeft(uuid);
    expect((await life.control.changePlan(uuid, "premium")).response).toMatchObject(refused);
  });
});
