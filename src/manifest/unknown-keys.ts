import { z } from "zod";
import { isJsonObject } from "../json-object.ts";
import { warning, type Finding, type Path } from "./finding.ts";
import { manifestSchema } from "./schema.ts";

/** A list of known keys is shown only up to this length. */
const FEW_KEYS = 5;

/** A warning for each key the platform's document does not list, with the key that was probably meant. */
export function unknownKeys(value: unknown): Finding[] {
  const known = Object.keys(manifestSchema.shape);
  const given = isJsonObject(value) ? Object.keys(value) : [];
  if (given.length > 0 && given.every((key) => !known.includes(key) && !closest(key, known)))
    return [warning([], "No key of this is a manifest's: is it the app.json of another tool?")];
  return below(manifestSchema, value, []);
}

function below(schema: z.core.$ZodType, value: unknown, path: Path): Finding[] {
  if (schema instanceof z.ZodOptional) return below(schema.unwrap(), value, path);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((form) => below(form, value, path));
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((element, index) => below(schema.element, element, [...path, index]));
  if (!isJsonObject(value)) return [];
  if (schema instanceof z.ZodRecord)
    return Object.entries(value).flatMap(([key, inner]) => below(schema.valueType, inner, [...path, key]));
  if (!(schema instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  // Where unknown keys are errors, no warning is needed.
  const isClosed = schema.def.catchall instanceof z.ZodNever;
  return Object.entries(value).flatMap(([key, inner]) => {
    if (Object.hasOwn(shape, key)) return below(shape[key]!, inner, [...path, key]);
    return isClosed ? [] : [unknown([...path, key], Object.keys(shape), value)];
  });
}

function unknown(path: Path, known: readonly string[], given: object): Finding {
  const missing = known.filter((key) => !Object.hasOwn(given, key));
  const meant = closest(String(path.at(-1)), missing);
  const listed = known.length <= FEW_KEYS ? ` What can stand here: ${known.join(", ")}.` : "";
  const advice = meant ? ` Did you mean "${meant}"?` : listed;
  return warning(path, `The platform's manifest has no such key here.${advice}`);
}

/** Longer than any key or its misspelling. */
const LONGEST = 40;

/** The known word that a mistyped one most likely stands for, if any is near. */
function closest(typed: string, known: readonly string[]): string | undefined {
  if (typed.length > LONGEST) return undefined;
  const word = plainOf(typed);
  const [best] = known
    .map((key) => ({ key, distance: distanceOf(word, plainOf(key)) }))
    .filter(({ key, distance }) => distance <= Math.ceil(key.length / 4) || isShortFor(word, key))
    .sort((one, other) => one.distance - other.distance);
  return best?.key;
}

/** Ignores case and separators: successUrl, success-url and SUCCESS_URL are equal. */
function plainOf(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/g, "");
}

function isShortFor(word: string, key: string): boolean {
  return word.length >= 3 && plainOf(key).startsWith(word);
}

/** The edit distance: the number of letters to insert, delete, change, or swap with their neighbour. */
function distanceOf(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = Number(one[i - 1] !== other[j - 1]);
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + change);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows.at(-1)!.at(-1)!;
}
