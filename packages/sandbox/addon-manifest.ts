import { readFileSync } from "node:fs";
import { isObject } from "./is-object.ts";

/** One plan of the add-on, by its bare name (`basic`, never `service:plan`). */
export interface AddonPlan {
  name: string;
  description?: string;
  price?: AddonPrice;
}

export interface AddonPrice {
  /** A whole number; 0 is free. */
  cents: number;
  unit: string;
  /** What is billed by use, in words. */
  metered?: string;
}

/** The options of an installation, as JSON Schema describes an object of them. */
export interface AddonOptions {
  properties?: Record<string, AddonOption>;
  required?: string[];
}

export interface AddonOption {
  type?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
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
  /** What customers may choose when they install it. Absent: whatever they write is passed. */
  options?: AddonOptions;
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
  checkOptions(value["options"]);
  const { password: _password, sso_salt: _salt, ...manifest } = value;
  return manifest as unknown as AddonManifest;
}

/** Returns the names of the plans. Throws if a name occurs twice. */
function checkPlans(plans: unknown): unknown[] {
  if (!Array.isArray(plans) || !plans.every((plan) => isObject(plan) && isFilled(plan["name"])))
    throw new Error("The add-on manifest's plans must be an array of objects, each with a name.");
  const names = (plans as AddonPlan[]).map(({ name }) => name);
  const isPriced = ({ price }: AddonPlan) => price === undefined || isPrice(price);
  if (new Set(names).size < names.length) throw new Error("The add-on manifest names a plan twice.");
  if (!(plans as AddonPlan[]).every(isPriced))
    throw new Error(
      "A plan's price in the add-on manifest must have cents, a whole number from 0, and a unit; metered is a text.",
    );
  return names;
}

function isPrice(price: unknown): boolean {
  if (!isObject(price)) return false;
  const { cents, unit, metered } = price;
  const isWhole = Number.isSafeInteger(cents) && (cents as number) >= 0;
  return isWhole && isFilled(unit) && (metered === undefined || isFilled(metered));
}

function checkOptions(options: unknown): void {
  if (options === undefined) return;
  const { properties = {}, required = [] } = isObject(options) ? options : { properties: null };
  const isTable = isObject(properties) && Object.values(properties).every(isObject);
  if (!isTable || !Array.isArray(required) || !required.every(isFilled))
    throw new Error(
      "The add-on manifest's options must be a JSON Schema of an object: properties, required.",
    );
}

/** An example of each option that must be given: what a customer who reads the documentation would write. */
export function exampleOptions(manifest: AddonManifest | null): Record<string, string> {
  const { properties = {}, required = [] } = manifest?.options ?? {};
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
}

function exampleOf({ examples, enum: values, type, ...option }: AddonOption): string {
  const { minimum = 1, maximum = Infinity } = option;
  const kinds: Record<string, unknown> = { boolean: true, string: "example" };
  const number = Math.min(Math.max(minimum, 1), maximum);
  return String(
    examples?.[0] ?? option.default ?? option.const ?? values?.[0] ?? kinds[type ?? "string"] ?? number,
  );
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.isWellFormed();
}
