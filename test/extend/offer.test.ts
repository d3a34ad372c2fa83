import { defineOffer } from "../../src/offer.ts";
import type { YourService } from "../../src/resources/contract.ts";

const small = { description: "A small one" };
const offer = defineOffer({
  plans: { small },
  defaultPlan: "small",
  ephemeralPlan: "small",
  regions: ["us"],
  configVars: ["TEAPOT_URL"],
});

// What must not compile is checked with the types, which `npm test` does too.
it("an offer is typed by its names; a plan that is not sold any more is looked up all the same", () => {
  // @ts-expect-error: no such plan
  defineOffer({ ...offer, plans: { small }, defaultPlan: "large" });
  const provision: YourService<typeof offer>["provision"] = async () => ({ config: { TEAPOT_URL: "x" } });
  // @ts-expect-error: no such config var
  const other: YourService<typeof offer>["provision"] = async () => ({ config: { COFFEE_URL: "x" } });
  expect([provision, other]).toHaveLength(2);
  expect([offer.plans["small"], offer.plans["gone"]]).toEqual([small, undefined]);
});
