import { Refusal } from "../errors.ts";
import { type Offer, plansOnSale } from "../offer.ts";
import type { Json } from "../values.ts";
import { resourceSealContext, type Vault } from "../vault/vault.ts";
import type { ResourceRow } from "./rows.ts";

// The answers to the platform's requests (assumed, section 1).

/** An HTTP answer. A repeated request gets the same `body`, byte for byte. */
export interface Answer {
  status: number;
  body: string;
}

export type Result =
  | {
      is: "done";
      config: Readonly<Record<string, string>>;
      message: string | undefined;
      /** Of a rotation: names the replaced credentials. */
      retires?: Json;
      logDrainUrl?: string | undefined;
    }
  | { is: "later"; message: string; againInSeconds: number; logDrainUrl?: string | undefined }
  | { is: "refused"; refusal: Refusal };

/** The answer for a result. `uuid`: given for a provision, whose answer contains the resource's id. */
export function answerOf(result: Result, uuid?: string): Answer {
  if (result.is === "refused") return refusalAnswer(result.refusal);
  if (result.is === "later") return laterAnswer(result.message, uuid, result.logDrainUrl);
  const { config, message, logDrainUrl } = result;
  const body = { id: uuid, config, message, log_drain_url: uuid && logDrainUrl };
  return { status: 200, body: JSON.stringify(body) };
}

export function laterAnswer(message: string, uuid?: string, logDrainUrl?: string): Answer {
  return { status: 202, body: JSON.stringify({ id: uuid, message, log_drain_url: uuid && logDrainUrl }) };
}

export function refusalAnswer({ status, id, message }: Refusal): Answer {
  return { status, body: JSON.stringify({ id, message }) };
}

export function sealAnswer(vault: Vault, uuid: string, body: string): Uint8Array<ArrayBuffer> {
  return vault.seal(resourceSealContext("sealed_answer", uuid), body);
}

/** The stored answer to a provision; `null` if none is stored yet. Throws a {@link Refusal} if it was deprovisioned. */
export function givenAnswer(
  vault: Vault,
  { uuid, state, answerStatus, sealedAnswer }: ResourceRow,
): Answer | null {
  if (state === "deprovisioned") throw deprovisioned();
  if (answerStatus === null || !sealedAnswer) return null;
  const body = vault.open(resourceSealContext("sealed_answer", uuid), sealedAnswer).reveal();
  return { status: answerStatus, body };
}

/** The refusal of a plan that cannot be bought. */
export function unknownPlan(offer: Offer, requested: string): Refusal {
  const shown = requested.slice(0, 60).toWellFormed();
  const names = plansOnSale(offer).map(([name]) => name);
  const wrong = Object.hasOwn(offer.plans, requested)
    ? `The plan "${shown}" is no longer sold.`
    : `There is no plan "${shown}".`;
  const words = `${wrong} Plans: ${names.join(", ")}.`;
  return new Refusal(words, { id: "unknown_plan" });
}

export const deprovisioned = () =>
  new Refusal("This resource was deprovisioned.", { id: "deprovisioned", status: 410 });

export const notFound = () =>
  new Refusal("This resource was never provisioned.", { id: "not_found", status: 404 });
