import { setTimeout as sleep } from "node:timers/promises";
import type { CustomerPage } from "../customer/contract.ts";
import { Refusal } from "../errors.ts";
import type { YourService } from "../resources/contract.ts";

/** Longer than the platform waits. */
const MOVING_MS = 5_000;

export function createYourService(): YourService & { customerPage: CustomerPage } {
  return {
    customerPage: () => ({ title: "Your kiln", content: "It is warm." }),
    provision: () => Promise.resolve({ config: {} }),
    async changePlan({ plan }) {
      if (plan === "clay") throw new Refusal("A kiln stays what it is.");
      await sleep(MOVING_MS);
      return { config: {} };
    },
    finish: () => Promise.resolve({ config: {} }),
    deprovision: () => Promise.resolve(console.log("A kiln was taken down.")),
  };
}
