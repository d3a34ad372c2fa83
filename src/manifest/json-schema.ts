import { z } from "zod";
import { manifestSchema } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The manifest's rules as a JSON Schema that editors understand (draft 7). It accepts exactly what the check accepts. */
export function manifestJsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(manifestSchema, {
    target: "draft-7",
    io: "input",
    // Every name of a member is a string: saying so is noise.
    override: ({ jsonSchema }) => void delete jsonSchema.propertyNames,
  });
  for (const definition of Object.values(schema.definitions ?? {})) forbidInsteadOfOffering(definition);
  return schema;
}

/** An editor offers each property that is listed, also one that never may be there. */
function forbidInsteadOfOffering(schema: JsonSchema): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (typeof property === "boolean" || !property.not) continue;
    delete schema.properties![name];
    schema.propertyNames = { not: { const: name } };
  }
}
