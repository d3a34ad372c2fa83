import { h } from "preact";
import type { Extensions, Kit, KitResource } from "../../src/extend/contract.ts";
import { addonManifest, defineOffer } from "../../src/offer.ts";
import { PlanCard } from "../../src/parts/cards.tsx";
import type { CustomerPage } from "../../src/people/contract.ts";
import type { VendorResource } from "../../src/resources/contract.ts";
import { aWorldOfCustomers } from "../people/customers.ts";
import { aVendor } from "../support/a-vendor.ts";
import { teapots } from "../support/teapots/index.ts";
import { opened } from "../support/world.ts";

// What a plan means: limits, features and a price as data of the offer, and where they are read.

const offer = defineOffer({
  plans: {
    basic: {
      description: "For one",
      price: { cents: 0, unit: "month" },
      limits: { cups: 1, pours: 100 },
      features: { lid: false, spout: true },
    },
    premium: {
      description: "For six",
      price: { cents: 1_250, unit: "month", metered: "1 cent per pour" },
      limits: { cups: 6, pours: Infinity },
      features: { lid: true, spout: true },
      includes: { pours: "as many as you like", support: "by day" },
    },
    plain: { description: "For none", limits: { cups: 0, pours: 0 }, features: { lid: false, spout: false } },
  },
  defaultPlan: "basic",
  ephemeralPlan: "basic",
  regions: ["us", "eu"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
  includes: ({ cups, pours }, { lid }) => ({
    cups,
    pours: { count: pours, per: "day" },
    lid: lid ? "of brass" : "none",
  }),
});
const withoutPremium = { ...offer, plans: { basic: offer.plans.basic, plain: offer.plans.plain } };
const OF_BASIC = { limits: { cups: 1, pours: 100 }, features: { lid: false, spout: true } };
const OF_PREMIUM = { limits: { cups: 6, pours: Infinity }, features: { lid: true, spout: true } };

let kit: Kit;
let sold = offer as Parameters<typeof PlanCard>[0]["offer"];
const customerPage: CustomerPage<typeof offer> = (resource, { dashboard }) => ({
  title: "A teapot",
  content: [
    h(PlanCard, { offer: sold, resource, dashboard }),
    h("p", null, `${resource.limits.cups} cups, lid: ${resource.features.lid}`),
  ],
});
const jobSaw = new Map<string, Pick<KitResource, "limits" | "features">>();
const jobs: Extensions["jobs"] = [
  {
    name: "meter",
    at: "0 3 * * *",
    async run() {
      for await (const { uuid, limits, features } of kit.resources.list())
        jobSaw.set(uuid, { limits, features });
    },
  },
];
const vendor = Object.assign(aVendor(), { jobs });
const parts = { customerPage: customerPage as CustomerPage, vendor: (given: Kit) => ((kit = given), vendor) };
const customers = opened(() => aWorldOfCustomers({ parts: { ...parts, offer } }));

async function pageOf(uuid: string) {
  const browser = customers.browser();
  await customers.signOn(browser, customers.signedForm(uuid, "owner@example.com"));
  return browser.get(`/customer/${uuid}`);
}

it("limits and features reach each function, with those of the new plan at a change, and `kit` and the job", async () => {
  const seen: unknown[] = [];
  const sees = async (resource: VendorResource) => {
    seen.push({ limits: resource.limits, features: resource.features });
    return teapots.provision(resource);
  };
  vendor.next("provision", sees);
  vendor.next("changePlan", sees);
  const uuid = await customers.life.settled("basic");
  expect(await kit.resources.find(uuid)).toMatchObject(OF_BASIC);
  await customers.control.changePlan(uuid, "premium");
  expect(seen).toEqual([OF_BASIC, OF_PREMIUM]);
  await customers.life.resourceBecomes(uuid, { plan: "premium" });
  await jobs[0]!.run(new AbortController().signal, { dueAt: new Date() });
  expect(jobSaw.get(uuid)).toEqual(OF_PREMIUM);
});

it("the customer's page has the price in words, what the plan includes by its limits, and what the plan adds", async () => {
  const { text } = await pageOf(await customers.life.settled("premium"));
  for (const shown of [
    "<dt>Price</dt><dd>12.50 a month and 1 cent per pour</dd>",
    "<dt>Cups</dt><dd>6</dd>",
    "<dt>Pours</dt><dd>as many as you like</dd>",
    "<dt>Lid</dt><dd>of brass</dd>",
    "<dt>Support</dt><dd>by day</dd>",
    "6 cups, lid: true",
  ])
    expect(text).toContain(shown);
  expect((await pageOf(await customers.life.settled("basic"))).text).toContain("<dt>Price</dt><dd>free</dd>");
  expect((await pageOf(await customers.life.settled("plain"))).text).not.toContain("<dt>Price");
});

it("the manifest and the marketplace have the prices: a price of 0 is free, none is left out", async () => {
  expect(addonManifest("teapots", offer).plans).toEqual([
    { name: "basic", description: "For one", price: { cents: 0, unit: "month" } },
    {
      name: "premium",
      description: "For six",
      price: { cents: 1_250, unit: "month", metered: "1 cent per pour" },
    },
    { name: "plain", description: "For none" },
  ]);
  const { name } = customers.control.createApp({});
  for (const path of ["/", `/marketplace/apps/${name}`]) {
    const page = await fetch(`${customers.world.sandbox.url}${path}`, { headers: { accept: "text/html" } });
    const text = await page.text();
    for (const shown of ["free", "12.50 a month and 1 cent per pour"])
      expect([path, text]).toEqual([path, expect.stringContaining(shown)]);
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
  }
});

describe("a plan that was removed while a customer has it", () => {
  let uuid: string;
  beforeAll(async () => {
    uuid = await customers.life.settled("premium");
    sold = withoutPremium;
    await customers.world.restart({ parts: { ...parts, offer: withoutPremium } });
  });

  it("breaks no page: the plan's name stands there, and the limits are the highest of all plans", async () => {
    const { status, text } = await pageOf(uuid);
    expect(status).toBe(200);
    expect(text).toContain('<p class="chosen">premium');
    expect(text).toContain("1 cups, lid: false");
  });

  it("breaks no job, and no function: both get the highest limits, and what any plan has", async () => {
    jobSaw.clear();
    await jobs[0]!.run(new AbortController().signal, { dueAt: new Date() });
    expect(jobSaw.get(uuid)).toEqual({
      limits: { cups: 1, pours: 100 },
      features: { lid: false, spout: true },
    });
  });

  it("may be left; a change to it says which plans there are", async () => {
    expect((await customers.control.changePlan(uuid, "basic")).response.status).toBe(200);
    await customers.life.nothingLeft(uuid);
    const back = await customers.control.changePlan(uuid, "premium", { force: true });
    expect(back.response).toMatchObject({
      status: 422,
      body: { message: 'There is no plan "premium". Plans: basic, plain.' },
    });
  });
});
