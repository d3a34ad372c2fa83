import { isJsonObject } from "../json-object.ts";

/** zod passes over a member named __proto__, as if nothing stood there: under another name it is looked at too. */
const STAND_IN = "__proto__\u{e000}";
/** No name that somebody chooses is further in: /environments/test/env/NAME. */
const DEEPEST_NAME = 4;

/** The same value with such members under the other name, objects in arrays apart: those hold no names of choice. */
export function withoutProto(value: unknown, levels = DEEPEST_NAME): unknown {
  if (levels === 0 || !isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name === "__proto__" ? STAND_IN : name,
    withoutProto(member, levels - 1),
  ]);
  return Object.fromEntries(members) as unknown;
}

/** The name as it was written. */
export function nameOf<Step extends PropertyKey>(step: Step): Step | "__proto__" {
  return step === STAND_IN ? "__proto__" : step;
}
