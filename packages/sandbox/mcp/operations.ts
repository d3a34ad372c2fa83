import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parse } from "yaml";

/** A part of a JSON Schema; OpenAPI 3.1 has the same dialect as the tools of MCP. */
export type Schema = Record<string, unknown>;

interface Parameter {
  name: string;
  in: "path" | "query";
  required?: boolean;
  description?: string;
  schema: Schema;
}

/** A call of the control API, as `control-api.yaml` describes it, with all references resolved. */
export interface Operation {
  operationId: string;
  method: string;
  path: string;
  summary: string;
  description?: string;
  /** The call takes something away that cannot be brought back. */
  isDestructive: boolean;
  parameters: Parameter[];
  /** Of the body; absent: the call has none. */
  body?: Schema & { properties?: Record<string, Schema>; required?: string[] };
}

interface Described extends Omit<Operation, "method" | "path" | "isDestructive" | "parameters" | "body"> {
  "x-destroys"?: boolean;
  parameters?: Parameter[];
  requestBody?: { content: { "application/json": { schema: Schema } } };
}
type Methods = Record<string, Described> & { parameters?: Parameter[] };

/** Reads the operations from the description that lies in the package, and that the tests hold to the routes. */
export function readOperations(): Operation[] {
  const file = createRequire(import.meta.url).resolve("addon-platform-sandbox/control-api.yaml");
  const description = parse(readFileSync(file, "utf8")) as { paths: Record<string, Methods> };
  return Object.entries(description.paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods).map(([method, described]) => {
      const { "x-destroys": destroys, requestBody, parameters = [], ...words } = described;
      const body = requestBody && { body: requestBody.content["application/json"].schema };
      const operation = { ...words, parameters: [...shared, ...parameters], ...body };
      return {
        ...(resolved(operation, description) as Operation),
        method: method.toUpperCase(),
        path,
        isDestructive: destroys ?? method === "delete",
      };
    }),
  );
}

/** A copy in which each `$ref` is replaced by what it names; those of inputs have no cycles. */
function resolved(value: unknown, root: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, root));
  if (typeof value !== "object" || value === null) return value;
  const { $ref } = value as { $ref?: string };
  if ($ref !== undefined) return resolved(targetOf($ref, root), root);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolved(member, root)]));
}

function targetOf(ref: string, root: unknown): unknown {
  const names = ref.replace(/^#\//, "").split("/");
  return names.reduce((parent, name) => (parent as Record<string, unknown>)[name], root);
}
