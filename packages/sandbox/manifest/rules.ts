import { isObject } from "../is-object.ts";

/** A violation in a manifest: its place as a JSON pointer (RFC 6901), and the rest of the sentence. */
export interface Fault {
  pointer: string;
  message: string;
}

export type Rule = (value: unknown, pointer: string) => Fault[];

const broken = (pointer: string, message: string): Fault[] => [{ pointer, message }];

export const text: Rule = (value, pointer) =>
  typeof value === "string" ? [] : broken(pointer, "must be a string");

export const filledText: Rule = (value, pointer) =>
  typeof value === "string" && value.trim() !== ""
    ? []
    : broken(pointer, "must be a string that is not empty");

export const flag: Rule = (value, pointer) =>
  typeof value === "boolean" ? [] : broken(pointer, "must be true or false");

export const count: Rule = (value, pointer) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? [] : broken(pointer, "must be a whole number from 0");

export const only =
  (...allowed: string[]): Rule =>
  (value, pointer) =>
    allowed.includes(value as string) ? [] : broken(pointer, `may only be ${allowed.join(" or ")}`);

export const atMost =
  (characters: number): Rule =>
  (value, pointer) => {
    if (typeof value !== "string") return text(value, pointer);
    const isShort = [...value].length <= characters;
    return isShort ? [] : broken(pointer, `must have at most ${characters} characters`);
  };

export const matching =
  (pattern: RegExp, message: string): Rule =>
  (value, pointer) =>
    typeof value === "string" && pattern.test(value) ? [] : broken(pointer, message);

export const list =
  (item: Rule): Rule =>
  (value, pointer) => {
    if (!Array.isArray(value)) return broken(pointer, "must be an array");
    return value.flatMap((element, index) => item(element, `${pointer}/${index}`));
  };

/** An object whose keys the author chooses. */
export const table =
  (value: Rule, key?: Rule): Rule =>
  (object, pointer) => {
    if (!isObject(object)) return broken(pointer, "must be an object");
    return Object.entries(object).flatMap(([name, member]) => {
      const at = below(pointer, name);
      return [...(key ? key(name, at) : []), ...value(member, at)];
    });
  };

/** An object with known members; other members are allowed. */
export const members =
  (rules: Record<string, Rule>, required: string[] = []): Rule =>
  (object, pointer) => {
    if (!isObject(object)) return broken(pointer, "must be an object");
    const missing = required.filter((name) => !Object.hasOwn(object, name));
    const faults = Object.entries(object).flatMap(([name, member]) =>
      Object.hasOwn(rules, name) ? rules[name]!(member, below(pointer, name)) : [],
    );
    return [...missing.flatMap((name) => broken(below(pointer, name), "is missing")), ...faults];
  };

/** Either a short form, which is a string, or a long form, which is an object. */
export const either =
  (short: Rule, long: Rule): Rule =>
  (value, pointer) => {
    if (typeof value === "string") return short(value, pointer);
    return isObject(value) ? long(value, pointer) : broken(pointer, "must be a string or an object");
  };

export const both =
  (...rules: [Rule, Rule]): Rule =>
  (value, pointer) =>
    rules.flatMap((rule) => rule(value, pointer));

function below(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
