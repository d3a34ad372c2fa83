import { z } from "zod";
import { isJsonObject } from "../json-object.ts";
import type { Finding } from "./finding.ts";
import { closest } from "./closest.ts";
import type { Path } from "./path.ts";
import { manifestSchema } from "./schema.ts";

/** A list of known keys is shown only up to this length. */
const FEW_KEYS = 5;

/** A warning for each key the platform's document does not list, with the key that was probably meant. */
export function unknownKeys(value: unknown): Finding[] {
  return isOfAnotherTool(value)
    ? [
        {
          path: [],
          severity: "warning",
          message: "No key of this is a manifest's: is it the app.json of another tool?",
        },
      ]
    : below(manifestSchema, value, []);
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
  return Object.entries(value).flatMap(([key, inner]) => {
    if (Object.hasOwn(shape, key)) return below(shape[key]!, inner, [...path, key]);
    return isClosed(schema) ? [] : [warning([...path, key], Object.keys(shape), value)];
  });
}

function warning(path: Path, known: readonly string[], given: object): Finding {
  const missing = known.filter((key) => !Object.hasOwn(given, key));
  const meant = closest(String(path.at(-1)), missing);
  const advice = meant
    ? ` Did you mean "${meant}"?`
    : known.length <= FEW_KEYS
      ? ` What can stand here: ${known.join(", ")}.`
      : "";
  return { path, severity: "warning", message: `The platform's manifest has no such key here.${advice}` };
}

/** Whether unknown keys of this object are errors: then no warning is needed. */
function isClosed(schema: z.ZodObject): boolean {
  return schema.def.catchall instanceof z.ZodNever;
}

function isOfAnotherTool(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const known = Object.keys(manifestSchema.shape);
  const given = Object.keys(value);
  return given.length > 0 && given.every((key) => !known.includes(key) && !closest(key, known));
}
