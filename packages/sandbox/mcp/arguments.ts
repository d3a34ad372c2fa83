import type { jsonSchemaValidator } from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { isObject } from "../is-object.ts";

const ajv = new AjvJsonSchemaValidator();

/** The library's validator, which does not say by itself which argument is one too many. */
export const namingValidator: jsonSchemaValidator = {
  getValidator<Value>(schema: Parameters<jsonSchemaValidator["getValidator"]>[0]) {
    const judge = ajv.getValidator<Value>(schema);
    const names = Object.keys((schema as { properties?: object }).properties ?? {});
    return (given: unknown) => {
      const strange = isObject(given) ? Object.keys(given).find((name) => !names.includes(name)) : undefined;
      if (strange === undefined) return judge(given);
      const others = names.length > 0 ? `there are ${names.join(", ")}` : "it takes none";
      return { valid: false, data: undefined, errorMessage: `there is no argument ${strange}; ${others}.` };
    };
  },
};
