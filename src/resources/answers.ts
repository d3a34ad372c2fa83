import { Refusal } from "../errors.ts";
import type { Json } from "../json-object.ts";
import { resourceSealContext } from "../vault/contexts.ts";
import type { Vault } from "../vault/vault.ts";
import { type ResourceRow } from "./rows.ts";

// What the platform is answered (assumed, section 1).

/** An answer to the platform: the status and the exact bytes of the body, the same at every repetition. */
export interface Answer {
  status: number;
  body: string;
}

/** What the vendor's service made, asked for later, or refused. */
export type Result =
  | {
      is: "done";
      config: Readonly<Record<string, string>>;
      message: string | undefined;
      /** Of a rotation: what it replaced. */
      retires?: Json;
    }
  | { is: "later"; message: string; againInSeconds: number }
  | { is: "refused"; refusal: Refusal };

/** The answer that says a result; `uuid`: of a provision, whose answer has the resource's id. */
export function answerOf(result: Result, uuid?: string): Answer {
  if (result.is === "refused") return refusalAnswer(result.refusal);
  if (result.is === "later") return laterAnswer(result.message, uuid);
  return { status: 200, body: JSON.stringify({ id: uuid, config: result.config, message: result.message }) };
}

/** 202: it is done later. */
export function laterAnswer(message: string, uuid?: string): Answer {
  return { status: 202, body: JSON.stringify({ id: uuid, message }) };
}

export function refusalAnswer({ status, id, message }: Refusal): Answer {
  return { status, body: JSON.stringify({ id, message }) };
}

export function sealAnswer(vault: Vault, uuid: string, body: string): Uint8Array<ArrayBuffer> {
  return vault.seal(resourceSealContext("sealed_answer", uuid), body);
}

/** The answer that a provision was given; null: none yet. Throws a {@link Refusal} if the resource was deprovisioned. */
export function givenAnswer(
  vault: Vault,
  { uuid, state, answerStatus, sealedAnswer }: ResourceRow,
): Answer | null {
  if (state === "deprovisioned") throw deprovisioned();
  if (answerStatus === null || !sealedAnswer) return null;
  const body = vault.open(resourceSealContext("sealed_answer", uuid), sealedAnswer).reveal();
  return { status: answerStatus, body };
}

export function unknownPlan(plans: object, asked: string): Refusal {
  // Half a surrogate pair, cut in two, would make the answer invalid Unicode.
  const shown = asked.length > 60 ? `${asked.slice(0, 60).toWellFormed()}…` : asked;
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
