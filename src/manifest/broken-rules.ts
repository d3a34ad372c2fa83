import type { z } from "zod";
import type { Finding } from "./finding.ts";
import type { Path } from "./path.ts";
import { nameOf, withoutProto } from "./proto-names.ts";
import { manifestSchema } from "./schema.ts";
import { typeSentence } from "./type-sentence.ts";

/** Every broken rule of the schema. */
export function brokenRules(value: unknown): Finding[] {
  const { error } = manifestSchema.safeParse(withoutProto(value), { error: typeSentence });
  return error?.issues.flatMap((issue) => findingsOf(issue, [])) ?? [];
}

function findingsOf(issue: z.core.$ZodIssue, above: Path): Finding[] {
  const path = [...above, ...issue.path.map(nameOf)];
  const error = (at: Path): Finding => ({ path: at, severity: "error", message: issue.message });
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => error([...path, nameOf(key)]));
  if (issue.code === "invalid_key") return issue.issues.map(({ message }) => ({ ...error(path), message }));
  if (issue.code === "invalid_union") {
    const meant = issue.errors.find(isOfTheRightType);
    if (meant) return meant.flatMap((inner) => findingsOf(inner, path));
  }
  return [error(path)];
}

/**
 * In a union such as "a string or an object", the form that the author meant is the one whose type fits: its faults lie
 * further inside.
 */
function isOfTheRightType(issues: readonly z.core.$ZodIssue[]): boolean {
  return !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0);
}
