import type { z } from "zod";
import type { Finding, Path } from "./finding.ts";
import { manifestSchema } from "./schema.ts";

/** Every broken rule of the schema. */
export function brokenRules(value: unknown): Finding[] {
  const { error } = manifestSchema.safeParse(value, { error: typeSentence });
  return error?.issues.flatMap((issue) => findingsOf(issue, [])) ?? [];
}

function findingsOf(issue: z.core.$ZodIssue, above: Path): Finding[] {
  const path = [...above, ...issue.path];
  const error = (at: Path): Finding => ({ path: at, severity: "error", message: issue.message });
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => error([...path, key]));
  if (issue.code === "invalid_key") return issue.issues.map(({ message }) => ({ ...error(path), message }));
  if (issue.code === "invalid_union") {
    // In "a string or an object" the form that the author meant is the one whose type fits: its faults lie further inside.
    const meant = issue.errors.find((inner) => !inner.some(isOfAnotherType));
    if (meant) return meant.flatMap((inner) => findingsOf(inner, path));
  }
  return [error(path)];
}

function isOfAnotherType({ code, path }: z.core.$ZodIssue): boolean {
  return code === "invalid_type" && path.length === 0;
}

const WANTED: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "true or false",
  array: "an array in [ ]",
  object: "an object in { }",
  record: "an object in { }",
};

/** An error message for zod that says which type a value should have. It never repeats the value. */
function typeSentence(issue: z.core.$ZodRawIssue): string | undefined {
  const wanted = expectedTypes(issue);
  if (wanted.length === 0) return undefined;
  return `This must be ${wanted.map((type) => WANTED[type] ?? type).join(" or ")}${remedy(issue.input, wanted)}.`;
}

function expectedTypes(issue: z.core.$ZodRawIssue): string[] {
  if (issue.code === "invalid_type") return [issue.expected];
  if (issue.code !== "invalid_union") return [];
  return issue.errors.flat().flatMap((inner) => (inner.code === "invalid_type" ? [inner.expected] : []));
}

function remedy(input: unknown, wanted: readonly string[]): string {
  if (input === null) return ", not null: leave it out where there is nothing to say";
  if (wanted.includes("string") && (typeof input === "number" || typeof input === "boolean"))
    return ": put it in quotes";
  if (wanted.includes("boolean") && typeof input === "string") return ", without quotes";
  return `, not ${Array.isArray(input) ? "an array" : typeof input === "object" ? "an object" : `a ${typeof input}`}`;
}
