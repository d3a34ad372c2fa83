import { typedUuid, UsedWrongly } from "../operator/errors.ts";

/** Resources named one by one, in the form we keep; or all of them. Throws `UsedWrongly` for both, and for neither. */
export function namesOrAll(typed: readonly string[], { all = false }: { all?: boolean }): string[] | "all" {
  if (all === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
  return all ? "all" : typed.map(typedUuid);
}
