import { typedUuid, UsedWrongly } from "../errors.ts";

/** The uuids of the named resources in canonical form, or "all". Throws `UsedWrongly` if both are given, or neither. */
export function namesOrAll(typed: readonly string[], { all = false }: { all?: boolean }): string[] | "all" {
  if (all === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
  return all ? "all" : typed.map(typedUuid);
}
