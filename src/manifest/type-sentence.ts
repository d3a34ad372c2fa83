import type { z } from "zod";

const WANTED: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "true or false",
  array: "an array in [ ]",
  object: "an object in { }",
  record: "an object in { }",
};

/** An error message for zod that says which type a value should have. It never repeats the value. */
export function typeSentence(issue: z.core.$ZodRawIssue): string | undefined {
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
