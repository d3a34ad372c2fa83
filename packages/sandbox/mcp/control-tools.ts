import type { Operation, Schema } from "./operations.ts";

/** A request to the control API. */
export interface ControlRequest {
  method: string;
  /** With its query. */
  path: string;
  body?: object;
}

/** A tool that makes one call of the control API. */
export interface ControlTool {
  name: string;
  description: string;
  inputSchema: Schema;
  annotations: Record<"readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint", boolean>;
  /** The call that the checked arguments make. */
  request(given: Record<string, unknown>): ControlRequest;
}

/** What an assistant reads leaves this machine, so no tool shows the ledger's secrets. */
const LEFT_OUT = ["reveal"];
const LIMIT = { type: "integer", minimum: 1, maximum: 100, default: 20 };

/** The tool of an operation: its arguments are the path's and the query's parameters, and the members of the body. */
export function controlTool(operation: Operation): ControlTool {
  const { operationId, method, summary, description, isDestructive } = operation;
  const parameters = operation.parameters.filter(({ name }) => !LEFT_OUT.includes(name));
  const names = parameters.map(({ name }) => name);
  const { properties = {}, required = [] } = operation.body ?? {};
  const members = Object.entries(properties).filter(([name]) => !names.includes(name));
  const needed = parameters.filter((each) => each.required).map(({ name }) => name);
  const isReading = method === "GET";
  return {
    name: operationId,
    description: [summary, description].join("\n").trim(),
    inputSchema: {
      type: "object",
      properties: {
        ...Object.fromEntries(parameters.map((each) => [each.name, schemaOf(each)])),
        ...Object.fromEntries(members),
      },
      required: [...needed, ...required.filter((name) => !names.includes(name))],
      additionalProperties: false,
    },
    annotations: {
      readOnlyHint: isReading,
      destructiveHint: isDestructive,
      idempotentHint: isReading || method === "PUT",
      openWorldHint: false,
    },
    request: (given) => requestOf(operation, given),
  };
}

function schemaOf({ name, description, schema }: Operation["parameters"][number]): Schema {
  const own = name === "limit" ? LIMIT : isSwitch(schema) ? { type: "boolean" } : schema;
  return { description, ...own };
}

/** In a query, `1` or nothing. */
function isSwitch(schema: Schema): boolean {
  return schema["const"] === "1";
}

function requestOf({ method, path, parameters, body }: Operation, given: Record<string, unknown>) {
  const rest = { ...given };
  let filled = path;
  const query = new URLSearchParams();
  for (const { name, in: place, schema } of parameters) {
    const value = rest[name] ?? (name === "limit" ? LIMIT.default : undefined);
    delete rest[name];
    if (value === undefined || value === false) continue;
    const text = isSwitch(schema) ? "1" : String(value);
    if (place === "path") filled = filled.replace(`{${name}}`, segment(name, text));
    else query.set(name, text);
  }
  const search = query.size > 0 ? `?${query}` : "";
  return { method, path: filled + search, ...(body && { body: rest }) };
}

function segment(name: string, text: string): string {
  // These would name another path.
  if (/^\.{0,2}$/.test(text))
    throw new Error(`${name} must be an id or a name, not ${JSON.stringify(text)}.`);
  return encodeURIComponent(text);
}
