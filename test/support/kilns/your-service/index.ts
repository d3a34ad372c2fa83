import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../errors.ts";
import type { Extensions, Kit } from "../extend/contract.ts";
import type { CustomerPage } from "../people/contract.ts";
import type { YourService } from "../resources/contract.ts";

/** Longer than the platform waits. */
const MOVING_MS = 5_000;
const COUNTING_MS = 950;

export function createYourService(
  _settings: unknown,
  kit: Kit,
): YourService & Extensions & { customerPage: CustomerPage } {
  return {
    // Fails until there is coal.
    jobs: [{ name: "stoke", at: "0 0 29 2 *", run: () => kit.database.query("SELECT * FROM coal") }],
    customerPage: () => ({ title: "Your kiln", content: "It is warm." }),
    async provision({ options }) {
      if (options["bricks"] === "many") {
        count();
        throw new Refusal("There are not so many bricks.");
      }
      return { config: {} };
    },
    async changePlan({ plan }) {
      if (plan === "clay") throw new Refusal("A kiln stays what it is.");
      await sleep(MOVING_MS);
      return { config: {} };
    },
    finish: () => Promise.resolve({ config: {} }),
    deprovision: () => Promise.resolve(console.log("A kiln was taken down.")),
  };
}

/** Computes without a pause, so that nothing else runs in this process. */
function count(): void {
  const until = performance.now() + COUNTING_MS;
  while (performance.now() < until);
}
