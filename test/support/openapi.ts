import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { parse } from "yaml";

/** The text of a file of the repository. */
export const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

type Content = Record<string, { schema: object; example?: unknown }>;
interface Response {
  $ref?: string;
  content?: Content;
}
interface Operation {
  operationId: string;
  tags?: string[];
  requestBody?: { content: Content };
  responses: Record<string, Response>;
}
interface Description {
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Response> };
}

/** A schema with its references resolved, in which an object has only the members that are described, if any are. */
function closed(schema: unknown, root: object, isPart = false): object {
  if (Array.isArray(schema)) return schema.map((each) => closed(each, root, isPart));
  if (typeof schema !== "object" || schema === null) return schema as unknown as object;
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) {
    const names = $ref.replace("#/", "").split("/");
    const named = names.reduce((parent: unknown, name) => (parent as Record<string, unknown>)[name], root);
    return closed(named, root, isPart);
  }
  const members = Object.entries(schema).map(([word, value]: [string, unknown]): [string, unknown] => {
    if (word === "properties") {
      const each = Object.entries(value as object).map(([name, inner]) => [name, closed(inner, root)]);
      return [word, Object.fromEntries(each)];
    }
    if (["allOf", "anyOf", "oneOf"].includes(word)) return [word, closed(value, root, true)];
    return [word, word === "items" ? closed(value, root) : value];
  });
  const isDescribed = ["properties", "allOf", "anyOf", "oneOf"].some((word) => word in schema);
  const isClosed = isDescribed && !isPart && !("additionalProperties" in schema);
  return Object.fromEntries(isClosed ? [...members, ["unevaluatedProperties", false]] : members);
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
  /** The operations with the statuses that were seen. */
  const answers = new Set<string>();

  const all = () =>
    Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => method !== "parameters")
        .map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation]),
    );

  function operationOf(method: string, address: string): [name: string, operation: Operation] {
    const [where] = address.split("?");
    const { path } = patterns.find(({ pattern }) => pattern.test(where!)) ?? { path: where! };
    const operation = description.paths[path]?.[method.toLowerCase()];
    if (!operation) throw new Error(`${method} ${path} is not described.`);
    return [`${method} ${path}`, operation];
  }

  const resolved = (response: Response): Response =>
    description.components.responses[response.$ref?.split("/").at(-1) ?? ""] ?? response;

  function lacks(): string[] {
    const tags = description.tags.map(({ name }) => name);
    const ids = all().map(([, { operationId }]) => operationId);
    return all().flatMap(([name, operation]) => {
      const bodies = Object.entries(operation.responses).map(
        ([status, response]) => [status, resolved(response).content] as const,
      );
      const withExamples = [["request", operation.requestBody?.content] as const, ...bodies];
      return [
        ...(ids.filter((id) => id === operation.operationId).length === 1
          ? []
          : [`${name}: an id of its own`]),
        ...(operation.tags?.length === 1 && tags.includes(operation.tags[0]!) ? [] : [`${name}: a tag`]),
        ...(Object.keys(operation.responses).some((status) => status.startsWith("4"))
          ? []
          : [`${name}: 4xx`]),
        ...withExamples.flatMap(([where, content]) =>
          Object.values(content ?? {}).flatMap(({ schema, example }) =>
            example === undefined
              ? [`${name} ${where}: an example`]
              : faultsOf(example, closed(schema, description)).map(
                  (fault) => `${name} ${where}: example${fault}`,
                ),
          ),
        ),
      ];
    });
  }

  function faultsOf(value: unknown, schema: object | undefined): string[] {
    const inAll = JSON.stringify(schema ?? {}).replaceAll('"#/', '"all#/');
    const validate = ajv.compile(JSON.parse(inAll) as object);
    if (validate(value)) return [];
    return validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  }

  return {
    seen,
    /** What each operation lacks of what readers and generators need: an id, a known tag, refusals, examples that fit and show no more than is described. */
    lacks: () => lacks(),
    /** Each operation with each status that is described for it: `GET /apps 200`. */
    described: () =>
      all().flatMap(([name, { responses }]) => Object.keys(responses).map((status) => `${name} ${status}`)),
    answers,
    /** The example of what an operation is sent, as JSON; undefined if it has no body. */
    example(operation: string): string | undefined {
      const [, { requestBody }] = all().find(([name]) => name === operation)!;
      return requestBody && JSON.stringify(Object.values(requestBody.content)[0]!.example);
    },
    ids: () => all().map(([, { operationId }]) => operationId),
    operations: () => all().map(([name]) => name),
    request(method: string, address: string, body: unknown): string[] {
      const [, { requestBody }] = operationOf(method, address);
      return faultsOf(body, Object.values(requestBody?.content ?? {})[0]?.schema);
    },
    answer(method: string, address: string, status: number, body: unknown): string[] {
      const [name, { responses }] = operationOf(method, address);
      seen.add(name);
      answers.add(`${name} ${status}`);
      const response = responses[status] ?? responses["default"];
      if (!response) return [`${status} is not described`];
      const { content } = resolved(response);
      return faultsOf(body, content?.["application/json"]?.schema);
    },
  };
}
