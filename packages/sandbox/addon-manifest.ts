import { readFileSync } from "node:fs";
import { isObject } from "./is-object.ts";

/** One plan of the add-on, by its bare name (`basic`, never `service:plan`). */
export interface AddonPlan {
  name: string;
  description?: string;
  price?: { cents: number; unit: string };
}

/**
 * What the partner has told the platform about its add-on. Only `id` and `plans` are required; other members that are
 * not listed here are kept and ignored.
 */
export interface AddonManifest {
  /** The name of the add-on service; also the user of the Basic credentials. */
  id: string;
  name?: string;
  plans: AddonPlan[];
  /** Used when an installation names no plan; the first of `plans` when absent. */
  default_plan?: string;
  /** Used for review and CI apps, whatever plan was asked for. */
  ephemeral_plan?: string;
  regions?: string[];
  /** The only config var names allowed. Absent: any name. */
  config_vars?: string[];
  /** The prefix of every config var name. Absent: none. */
  config_vars_prefix?: string;
  /** `log_input` adds `log_input_url` and `log_drain_token` to the provision request. */
  requires?: string[];
}

/** Reads a manifest, given as JSON text or as the path of a JSON file. Throws with the reason if it cannot be used. */
export function readAddonManifest(pathOrJson: string): AddonManifest {
  return checkAddonManifest(jsonOf(pathOrJson));
}

export function jsonOf(pathOrJson: string): unknown {
  const isInline = pathOrJson.trimStart().startsWith("{");
  return JSON.parse(isInline ? pathOrJson : readFileSync(pathOrJson, "utf8"));
}

/**
 * Checks the members that the sandbox relies on. Drops the password and the salt, because the rest is shown in pages
 * and answers.
 */
export function checkAddonManifest(value: unknown): AddonManifest {
  if (!isObject(value)) throw new Error("The add-on manifest is not an object.");
  if (!isFilled(value["id"])) throw new Error("The add-on manifest has no id.");
  const names = checkPlans(value["plans"]);
  for (const member of ["default_plan", "ephemeral_plan"]) {
    const plan = value[member];
    if (plan !== undefined && !names.includes(plan))
      throw new Error(`The add-on manifest's ${member} must be one of its plans: ${names.join(", ")}.`);
  }
  const prefix = value["config_vars_prefix"];
  if (prefix !== undefined && typeof prefix !== "string")
    throw new Error("The add-on manifest's config_vars_prefix must be a string.");
  for (const member of ["regions", "config_vars", "requires"]) {
    const list = value[member];
    if (list !== undefined && !(Array.isArray(list) && list.every((item) => typeof item === "string"))) {
      throw new Error(`The add-on manifest's ${member} must be an array of strings.`);
    }
  }
  const { password: _password, sso_salt: _salt, ...manifest } = value;
  return manifest as unknown as AddonManifest;
}

/** Returns the names of the plans. Throws if a name occurs twice. */
function checkPlans(plans: unknown): unknown[] {
  if (!Array.isArray(plans) || !plans.every((plan) => isObject(plan) && isFilled(plan["name"])))
    throw new Error("The add-on manifest's plans must be an array of objects, each with a name.");
  const names = (plans as AddonPlan[]).map(({ name }) => name);
  const isPriced = ({ price }: AddonPlan) =>
    price === undefined || (isObject(price) && typeof price.cents === "number" && isFilled(price.unit));
  if (new Set(names).size < names.length) throw new Error("The add-on manifest names a plan twice.");
  if (!(plans as AddonPlan[]).every(isPriced))
    throw new Error("A plan's price in the add-on manifest must have cents, a number, and a unit.");
  return names;
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.isWellFormed();
}
