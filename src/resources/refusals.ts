import { Refusal } from "../errors.ts";
import type { Offer } from "./contract.ts";

// The refusals sent to the platform (assumed, section 1).

/** How many characters of the requested plan name the message repeats. */
const MOST_SHOWN = 60;

export function unknownPlan({ plans }: Offer, asked: string): Refusal {
  // Cut between whole characters: half a surrogate pair would make the answer invalid Unicode, which the kit itself
  // refuses to read.
  const first = [...asked.slice(0, 2 * MOST_SHOWN)].slice(0, MOST_SHOWN).join("");
  const shown = first.length < asked.length ? `${first}…` : asked;
  return new Refusal(`There is no plan "${shown}". Plans: ${Object.keys(plans).join(", ")}.`, {
    id: "unknown_plan",
  });
}

export function deprovisioned(): Refusal {
  return new Refusal("This resource was deprovisioned.", { id: "deprovisioned", status: 410 });
}

export function notFound(): Refusal {
  return new Refusal("This resource was never provisioned.", { id: "not_found", status: 404 });
}

export function provisionFailed(): Refusal {
  return new Refusal("Provisioning this resource failed, so its plan cannot be changed.", {
    id: "provision_failed",
  });
}
