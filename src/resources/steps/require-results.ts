import type { YourService } from "../contract.ts";
import { BrokenContract } from "./attempt.ts";

/**
 * Wraps the vendor's service: if a function returns nothing and must return something, it throws a
 * {@link BrokenContract} that says so. Otherwise a forgotten `return` would show as an error in the kit's own code.
 */
export function requireResults(vendor: YourService): YourService {
  return {
    provision: async (resource) => something("provision", await vendor.provision(resource)),
    changePlan: async (...given) => something("changePlan", await vendor.changePlan(...given)),
    finish: async (...given) => something("finish", await vendor.finish(...given)),
    deprovision: (resource) => vendor.deprovision(resource),
  };
}

function something<Outcome>(name: keyof YourService, outcome: Outcome): Outcome {
  if (outcome !== undefined && outcome !== null) return outcome;
  throw new BrokenContract(
    `The service's ${name}() returned nothing; it must return its config, or later. Is a return missing?`,
  );
}
