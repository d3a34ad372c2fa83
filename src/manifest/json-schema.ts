import { z } from "zod";
import { manifestSchema } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * The manifest's rules as a JSON Schema that editors understand (draft 7). It accepts exactly what the check accepts,
 * except that it cannot detect two add-ons with the same attachment name.
 */
export function manifestJsonSchema(): JsonSchema {
  return z.toJSONSchema(manifestSchema, {
    target: "draft-7",
    io: "input",
    override: ({ jsonSchema }) => sayNoNoise(jsonSchema),
  });
}

/** Removes `propertyNames` without a pattern: that member names are strings goes without saying. */
function sayNoNoise(schema: JsonSchema): void {
  const { propertyNames } = schema;
  if (typeof propertyNames === "object" && propertyNames.pattern === undefined) delete schema.propertyNames;
}
