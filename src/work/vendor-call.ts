import { types } from "node:util";
import { KitError, Refusal } from "../errors.ts";
import { mayQuote } from "../redact.ts";
import type { Result } from "../resources/answers.ts";
import { openConfig } from "../resources/config-vars.ts";
import type { Done, Later, NotYet, Offer, Outcome, VendorResource } from "../resources/contract.ts";
import { resourceSealContext, type ResourceRow } from "../resources/rows.ts";
import { Secret } from "../secret.ts";
import type { Vault } from "../vault/vault.ts";
import type { Step } from "./step.ts";

// What a vendor's function is given, and what it may return. The types say the same; this holds at run time too, as a
// wrong config cannot be taken back once it was sent.

/** The vendor's function answered something the contract does not allow. */
export class BrokenContract extends KitError {
  constructor(message: string) {
    super("broken_contract", message);
  }
}

/** Thrown by a step while the vendor's work goes on: the step is run again in `againInSeconds`. */
export class StillUnderWay extends Error {
  readonly againInSeconds: number;

  constructor({ message, againInSeconds }: { message: string; againInSeconds: number }) {
    super(message);
    this.againInSeconds = againInSeconds;
  }
}

/** The resource of a step as a vendor's function gets it: of a plan change, with the new plan. */
export function vendorResource(
  vault: Vault,
  { resource, key, detail }: Step,
  signal: AbortSignal,
): VendorResource {
  const { uuid, name, plan, region, options } = resource;
  return {
    ...{ uuid, name, region, options, signal },
    plan: detail.plan ?? plan,
    idempotencyKey: key,
    logInputUrl: logSecret(vault, resource, "sealed_log_input_url"),
    logDrainToken: logSecret(vault, resource, "sealed_log_drain_token"),
  };
}

function logSecret(
  vault: Vault,
  { uuid, sealedLogInputUrl, sealedLogDrainToken }: ResourceRow,
  column: "sealed_log_input_url" | "sealed_log_drain_token",
): Secret | null {
  const sealed = column === "sealed_log_input_url" ? sealedLogInputUrl : sealedLogDrainToken;
  return sealed && vault.open(resourceSealContext(column, uuid), sealed);
}

/**
 * Every secret of a resource that the vendor's code knows and may quote in an error: log addresses and config values.
 * Config values shorter than 8 characters are left out, since they are common words. A secret that cannot be decrypted
 * is left out too; the others are still returned.
 */
export function secretsOf(vault: Vault, resource: ResourceRow): Secret[] {
  const configValues = () =>
    openConfig(vault, resource).flatMap(({ value }) =>
      value !== null && value.length >= 8 ? new Secret(value) : [],
    );
  const found = [
    () => logSecret(vault, resource, "sealed_log_input_url") ?? [],
    () => logSecret(vault, resource, "sealed_log_drain_token") ?? [],
    configValues,
  ];
  return found.flatMap((open) => {
    try {
      return open();
    } catch {
      return [];
    }
  });
}

/**
 * Calls one of the vendor's functions that must return something, and gives its result; a `Refusal` is one too. Throws
 * any other error, without the resource's secrets, which it may quote.
 */
export async function callVendor(
  { offer, vault }: { offer: Offer; vault: Vault },
  resource: ResourceRow,
  name: "provision" | "changePlan" | "finish",
  call: () => Promise<Outcome | NotYet>,
): Promise<Result> {
  try {
    return resultOf(offer, name, await call());
  } catch (thrown) {
    const error = mayQuote(thrown, secretsOf(vault, resource));
    if (error instanceof Refusal) return { is: "refused", refusal: error };
    throw error;
  }
}

function resultOf(offer: Offer, name: string, outcome: Outcome | NotYet | undefined | null): Result {
  // A forgotten `return` would otherwise show as an error in the kit's own code.
  if (outcome === undefined || outcome === null)
    throw new BrokenContract(
      `The service's ${name}() returned nothing; it must return its config, or later. Is a return missing?`,
    );
  if (isNotYet(outcome)) {
    if ((outcome as Partial<Done>).config != null)
      throw new BrokenContract(
        "The service returned both config and later: return later alone until the work is done.",
      );
    return { is: "later", ...whenAgain(outcome) };
  }
  const { config, message } = outcome;
  if (message !== undefined && typeof message !== "string")
    throw new BrokenContract("The service returned a message that is not a text.");
  return { is: "done", config: checkedConfig(offer, config), message };
}

/**
 * Whether a function of the vendor's answered `later`. Where no result is asked for, anything else it returns is
 * ignored.
 */
export function isNotYet(outcome: Done | Later | void): outcome is Later {
  return (outcome as Partial<Later> | null | undefined)?.later != null;
}

/** Stands in for an empty sentence; it fits a provision, a plan change and a clean-up. */
const NO_SENTENCE = "The work goes on.";
const LEAST_WAIT_SECONDS = 1;
const USUAL_WAIT_SECONDS = 30;
const MOST_WAIT_SECONDS = 3_600;

/**
 * The sentence of a `later`, and in how many seconds to call again: 1 to 3,600. Throws a {@link BrokenContract} for
 * other types.
 */
export function whenAgain({ later, againInSeconds = USUAL_WAIT_SECONDS }: NotYet) {
  if (typeof later !== "string")
    throw new BrokenContract("The service answered later, but not with a sentence.");
  if (typeof againInSeconds !== "number" || Number.isNaN(againInSeconds))
    throw new BrokenContract("The service answered later with an againInSeconds that is no number.");
  const wait = Math.min(Math.max(againInSeconds, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS);
  return { message: later.trim() === "" ? NO_SENTENCE : later, againInSeconds: wait };
}

/**
 * Only declared names, and only texts that an environment can hold: the platform would refuse anything else, which is
 * final for a provision. In anything but a plain object, such as a list, a Map or a promise, no vars would be found, and
 * those of the app would be removed.
 */
function checkedConfig(offer: Offer, config: unknown): Record<string, string> {
  if (!isPlainObject(config))
    throw new BrokenContract(
      `The service must return its config as a plain object of names and texts.${hintFor(config)}`,
    );
  for (const [name, value] of Object.entries(config)) {
    if (!offer.configVars.includes(name))
      throw new BrokenContract(
        `The service set ${name}, which is not among configVars in src/your-service/plans.ts.`,
      );
    // Its type, never the value itself, which may be secret.
    if (typeof value !== "string")
      throw new BrokenContract(
        `The service set ${name} to something of type ${value === null ? "null" : typeof value}, and not to a text.${hintFor(value)}`,
      );
    if (value.includes("\0") || !value.isWellFormed())
      throw new BrokenContract(`The service set ${name} to a text with a NUL or with broken Unicode.`);
  }
  return { ...(config as Record<string, string>) };
}

function hintFor(value: unknown): string {
  return types.isPromise(value) ? " Is an await missing?" : "";
}

/** Objects of another realm (node:vm) count too: nothing stands behind their prototype either. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
