import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { parse } from "yaml";

/** The text of a file of the repository. */
export const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

type Content = Record<string, { schema: object }>;
interface Response {
  $ref?: string;
  content?: Content;
}
interface Operation {
  requestBody?: { content: Content };
  responses: Record<string, Response>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response> };
}

/** A description: what it says of a request and of an answer, each as a list of faults. */
export function described(file: string) {
  const description = parse(read(file)) as Description;
  const ajv = new Ajv2020({ strict: false, validateFormats: true });
  formats.default(ajv);
  ajv.addSchema({ $id: "all", ...description });
  const patterns = Object.keys(description.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
  }));
  const seen = new Set<string>();

  function operationOf(method: string, address: string): [name: string, operation: Operation] {
    const [where] = address.split("?");
    const { path } = patterns.find(({ pattern }) => pattern.test(where!)) ?? { path: where! };
    const operation = description.paths[path]?.[method.toLowerCase()];
    if (!operation) throw new Error(`${method} ${path} is not described.`);
    return [`${method} ${path}`, operation];
  }

  function faultsOf(value: unknown, schema: object | undefined): string[] {
    const inAll = JSON.stringify(schema ?? {}).replaceAll('"#/', '"all#/');
    const validate = ajv.compile(JSON.parse(inAll) as object);
    if (validate(value)) return [];
    return validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  }

  return {
    seen,
    operations: () =>
      Object.entries(description.paths).flatMap(([path, methods]) =>
        Object.keys(methods).flatMap((method) =>
          method === "parameters" ? [] : [`${method.toUpperCase()} ${path}`],
        ),
      ),
    request(method: string, address: string, body: unknown): string[] {
      const [, { requestBody }] = operationOf(method, address);
      return faultsOf(body, Object.values(requestBody?.content ?? {})[0]?.schema);
    },
    answer(method: string, address: string, status: number, body: unknown): string[] {
      const [name, { responses }] = operationOf(method, address);
      seen.add(name);
      const response = responses[status] ?? responses["default"];
      if (!response) return [`${status} is not described`];
      const { content } =
        description.components.responses[response.$ref?.split("/").at(-1) ?? ""] ?? response;
      return faultsOf(body, content?.["application/json"]?.schema);
    },
  };
}
