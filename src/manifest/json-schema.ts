import { z } from "zod";
import { manifestSchema } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * The manifest's rules as a JSON Schema that editors understand (draft 7). It accepts exactly what the check accepts,
 * but for two add-ons of one attachment's name, which such a schema cannot see.
 */
export function manifestJsonSchema(): JsonSchema {
  return z.toJSONSchema(manifestSchema, {
    target: "draft-7",
    io: "input",
    override: ({ jsonSchema }) => sayNoNoise(jsonSchema),
  });
}

/** Every name of a member is a string: only a pattern is worth saying. */
function sayNoNoise(schema: JsonSchema): void {
  const { propertyNames } = schema;
  if (typeof propertyNames === "object" && propertyNames.pattern === undefined) delete schema.propertyNames;
}
