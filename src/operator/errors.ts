import { KitError } from "../errors.ts";
import { readUuid } from "../values.ts";

/** The operator's request makes no sense: a malformed uuid, an unknown state. Nothing was done. */
export class UsedWrongly extends KitError {
  constructor(message: string) {
    super("used_wrongly", message);
  }
}

export class UnknownResource extends KitError {
  constructor(uuid: string) {
    super("not_found", `There is no resource ${uuid}.`);
  }
}

/** A uuid as typed by an operator, in the canonical form that is stored. Throws {@link UsedWrongly}. */
export function typedUuid(text: string): string {
  const uuid = readUuid(text.trim());
  if (!uuid) throw new UsedWrongly(`"${text}" is not the uuid of a resource.`);
  return uuid;
}
