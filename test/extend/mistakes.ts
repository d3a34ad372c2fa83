import { z } from "zod";
import type { Kit, KitResource, Service, YourJob } from "../../src/extend/contract.ts";
import { defineOffer } from "../../src/offer.ts";
import type { CustomerPage } from "../../src/people/contract.ts";
import type { Done, PlanOf, Rotated, VendorResource, YourService } from "../../src/resources/contract.ts";

// What a vendor may mistype. The type check compiles this file: each comment `@ts-expect-error` stands above a line that must
// not compile, and is an error itself above one that does. compile.test.ts shows that they are looked at. Nothing here runs.

const rest = {
  defaultPlan: "small",
  ephemeralPlan: "small",
  regions: ["us", "eu"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
} as const;
const offer = defineOffer({
  plans: {
    small: { description: "One" },
    large: { description: "Six" },
    old: { description: "Two", retired: true },
  },
  ...rest,
});
const withLimits = defineOffer({
  ...rest,
  plans: {
    small: { description: "One", limits: { cups: 1 }, features: { lid: false } },
    large: { description: "Six", limits: { cups: 6 }, features: { lid: true } },
    old: { description: "Two", limits: { cups: 2 }, features: { lid: true }, retired: true },
  },
  includes: ({ cups }, { lid }) => ({ cups, lid: lid ? "yes" : "no" }),
  options: z.object({ glaze: z.enum(["matt", "gloss"]) }),
});
const metrics = {
  pours_total: { help: "Pours", labels: ["tea"] },
  moves_total: { help: "Moves" },
} as const;

type Ours = typeof offer;
type WithLimits = typeof withLimits;
type Uuid = string;

/** What is right, so that an error above it is about the mistake alone. */
const done = async (_for?: unknown) => ({ config: { TEAPOT_URL: "https://teapots.example" } });
const functions: YourService<Ours> = {
  provision: done,
  changePlan: done,
  finish: done,
  deprovision: async () => undefined,
};
const page: CustomerPage<Ours> = ({ plan }) => ({ title: offer.plans[plan].description, content: plan });
const pageThatMoves: CustomerPage<Ours, "move"> = (_resource, { form }) => ({
  title: "",
  content: form("move", ""),
});
const move = { run: async ({ plan }: { plan: PlanOf<Ours> }) => `Moved from ${plan}.` };

export const offers = {
  aDefaultPlanThatIsNotOnOffer: () =>
    // @ts-expect-error: "largr"
    defineOffer({ ...offer, defaultPlan: "largr" }),
};

export const limits = {
  aPlanThatIsNotOnOffer: () =>
    // @ts-expect-error: "larg"
    withLimits.plans.larg,
  missingInOnePlan: () =>
    defineOffer({
      ...rest,
      plans: {
        small: { description: "", limits: { cups: 1, pours: 2 } },
        large: { description: "", limits: { cups: 6, pours: 12 } },
        // @ts-expect-error: pours is missing
        old: { description: "", limits: { cups: 2 } },
      },
    }),
  missingAltogether: () =>
    defineOffer({
      ...rest,
      plans: {
        small: { description: "", limits: { cups: 1 } },
        large: { description: "", limits: { cups: 6 } },
        // @ts-expect-error: limits are missing
        old: { description: "" },
      },
    }),
  notANumber: () =>
    defineOffer({
      ...rest,
      plans: {
        small: { description: "", limits: { cups: 1 } },
        large: { description: "", limits: { cups: 6 } },
        // @ts-expect-error: "two"
        old: { description: "", limits: { cups: "two" } },
      },
    }),
  // @ts-expect-error: "cpus"
  ofAResource: (resource: VendorResource<WithLimits>) => resource.limits.cpus,
  // @ts-expect-error: "cpus"
  ofAResourceOfTheKit: (resource: KitResource<WithLimits>) => resource.limits.cpus,
  // @ts-expect-error: "lids"
  aFeature: (resource: VendorResource<WithLimits>) => resource.features.lids,
  whereThereAreNone: (resource: VendorResource<Ours>) =>
    // @ts-expect-error: the offer has no limits
    resource.limits.cups,
};

export const options = {
  // @ts-expect-error: "glase"
  aName: (resource: VendorResource<WithLimits>) => resource.options.glase,
  aValue: (resource: VendorResource<WithLimits>) =>
    // @ts-expect-error: "wood"
    resource.options.glaze === "wood",
};

export const plans = {
  aTableOfPlans: (): Record<PlanOf<Ours>, number> => ({
    ...{ small: 1, large: 6 },
    // @ts-expect-error: "odl"
    odl: 2,
  }),
  // @ts-expect-error: "old" is missing
  aTableWithoutARetiredPlan: (): Record<PlanOf<Ours>, number> => ({ small: 1, large: 6 }),
  ofAResource: ({ plan }: VendorResource<Ours>) =>
    // @ts-expect-error: "larg"
    plan === "larg",
  ofAFilter: (kit: Kit<Ours>) =>
    // @ts-expect-error: "larg"
    kit.resources.list({ plan: "larg" }),
  ofAResourceOfTheKit: ({ plan }: KitResource<Ours>) =>
    // @ts-expect-error: "larg"
    plan === "larg",
  inAFilter: (kit: Kit<Ours>) =>
    // @ts-expect-error: "larg"
    kit.resources.list({ plan: "larg" }),
  beforeAChange: (): Partial<YourService<Ours>> => ({
    async changePlan(_resource, previousPlan) {
      // @ts-expect-error: "larg"
      return done(previousPlan === "larg");
    },
  }),
  onThePage: (): CustomerPage<Ours> => (resource) => ({
    // @ts-expect-error: "larg"
    title: resource.plan === "larg" ? "Large" : "Small",
    content: "",
  }),
  ofTheOffer: () =>
    // @ts-expect-error: "larg"
    offer.plans["larg"],
};

export const regions = {
  ofAResource: ({ region }: VendorResource<Ours>) =>
    // @ts-expect-error: "uk"
    region === "uk",
  aTableOfRegions: ({ region }: KitResource<Ours>, kilns: Record<"us", string>) =>
    // @ts-expect-error: "eu" is missing
    region && kilns[region],
};

export const configVars = {
  // @ts-expect-error: TEAPOT_ULR
  done: (): Done<Ours> => ({ config: { TEAPOT_ULR: "" } }),
  // @ts-expect-error: TEAPOT_ULR
  rotated: (): Rotated<Ours> => ({ config: { TEAPOT_ULR: "" }, retires: "1" }),
  set: (kit: Kit<Ours>, uuid: Uuid) =>
    // @ts-expect-error: TEAPOT_ULR
    kit.config.set(uuid, { TEAPOT_ULR: "" }),
  atThePlatform: (kit: Kit<Ours>, uuid: Uuid) =>
    // @ts-expect-error: TEAPOT_ULR
    kit.platformFor(uuid).config.update([{ name: "TEAPOT_ULR", value: "" }]),
  whenFinished: (): Partial<YourService<Ours>> => ({
    async finish(_resource, platform) {
      // @ts-expect-error: TEAPOT_ULR
      await platform.config.update([{ name: "TEAPOT_ULR", value: "" }]);
      return done();
    },
  }),
};

export const counters = {
  aName: (kit: Kit<Ours, typeof metrics>) =>
    // @ts-expect-error: "mvoes_total"
    kit.count("mvoes_total"),
  aLabel: (kit: Kit<Ours, typeof metrics>) =>
    // @ts-expect-error: "tae"
    kit.count("pours_total", { tae: "green" }),
  noLabel: (kit: Kit<Ours, typeof metrics>) =>
    // @ts-expect-error: "tea" is missing
    kit.count("pours_total"),
  aLabelTooMany: (kit: Kit<Ours, typeof metrics>) =>
    // @ts-expect-error: it has no labels
    kit.count("moves_total", { tea: "green" }),
  metricsThatAreNotReturned: (): Service<Ours, { metrics: typeof metrics }> =>
    // @ts-expect-error: metrics is missing
    ({ ...functions, customerPage: page }),
};

export const actions = {
  aForm:
    (): CustomerPage<Ours, "move"> =>
    (_resource, { form }) => ({
      title: "",
      // @ts-expect-error: "mvoe"
      content: form("mvoe", ""),
    }),
  aFormWithoutActions:
    (): CustomerPage<Ours> =>
    (_resource, { form }) => ({
      title: "",
      // @ts-expect-error: there are none
      content: form("move", ""),
    }),
  aPageWhoseActionIsNotNamed: (): Service<Ours> => ({
    ...functions,
    // @ts-expect-error: "move"
    customerPage: pageThatMoves,
    actions: { move },
  }),
  aNameWithoutAnAction: (): Service<Ours, { actions: "move" }> => ({
    ...functions,
    customerPage: pageThatMoves,
    // @ts-expect-error: "move" is missing
    actions: { mvoe: move },
  }),
  aResource: (): Service<Ours, { actions: "move" }> => ({
    ...functions,
    customerPage: pageThatMoves,
    // @ts-expect-error: "larg"
    actions: { move: { run: async ({ plan }) => String(plan === "larg") } },
  }),
  ofAnOperator: (): Service<Ours> => ({
    ...functions,
    customerPage: page,
    operatorActions: {
      // @ts-expect-error: "larg"
      move: { label: "Move", effect: "Moves", run: async ({ plan }) => String(plan === "larg") },
    },
  }),
};

/** Compiles: what is right, and what forks wrote before the names were types. */
export const right = {
  service: (): Service<Ours, { actions: "move"; metrics: typeof metrics }> => ({
    ...{ ...functions, metrics, customerPage: pageThatMoves },
    actions: { move },
    jobs: [{ name: "meter", at: "0 3 * * *", run: async () => undefined }],
  }),
  limits: ({
    limits,
    features,
    options,
  }: VendorResource<WithLimits>): [number, boolean, "matt" | "gloss"] => [
    limits.cups,
    features.lid,
    options.glaze,
  ],
  count: (kit: Kit<Ours, typeof metrics>) => kit.count("pours_total", { tea: "green" }, 2),
  before: (kit: Kit<typeof metrics>, uuid: Uuid) => {
    kit.count("moves_total");
    return kit.config.set(uuid, { ANY: "value" } as Record<string, string | null>);
  },
  pageBefore: ((_resource, { form }) => ({
    title: "",
    content: form("move", ""),
  })) satisfies CustomerPage<"move">,
};

export const jobs = {
  // @ts-expect-error: "all"
  anotherKind: { ...{ name: "bill", at: "0 3 * * *", run: done }, missed: "all" } satisfies YourJob,
};
