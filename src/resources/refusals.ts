import { Refusal } from "../errors.ts";
import type { Offer } from "./contract.ts";

// The definite answers to the platform that are not a success (decisions, section 1).

export function unknownPlan({ plans }: Offer, asked: string): Refusal {
  const shown = asked.length > 60 ? `${asked.slice(0, 60)}…` : asked;
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

export function neverProvisioned(): Refusal {
  return new Refusal("Provisioning this resource failed, so its plan cannot be changed.", {
    id: "provision_failed",
  });
}
