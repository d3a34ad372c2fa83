import { isJsonObject } from "../json-object.ts";

/** zod ignores a member named __proto__; under another name it is checked too. */
const STAND_IN = "__proto__\u{e000}";
/** The deepest level at which authors choose member names: /environments/test/env/NAME. */
const DEEPEST_NAME = 4;

/** The same value with __proto__ members renamed. Objects in arrays are left alone: authors choose no names there. */
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
