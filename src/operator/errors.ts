import { KitError } from "../errors.ts";
import { readUuid } from "../uuid.ts";

/** The operator's request makes no sense: a malformed uuid, an unknown state. Nothing was done. */
export class UsedWrongly extends KitError {
  constructor(message: string) {
    super("used_wrongly", message);
  }
}

/** The platform never asked for a resource of this uuid. */
export class UnknownResource extends KitError {
  constructor(uuid: string) {
    super("not_found", `There is no resource ${uuid}.`);
  }
}

/** An {@link UnknownResource} as an entry of a report on many resources. */
export function failedUnknown(uuid: string): { uuid: string; id: string; message: string } {
  const { id, message } = new UnknownResource(uuid);
  return { uuid, id, message };
}

/** The operator stopped the work. What was done is kept, and the same command continues where it stopped. */
export class Interrupted extends KitError {
  constructor(message: string) {
    super("interrupted", message);
  }
}

/** A uuid as typed by an operator, in the canonical form that is stored. Throws {@link UsedWrongly}. */
export function typedUuid(text: string): string {
  const uuid = readUuid(text.trim());
  if (!uuid) throw new UsedWrongly(`"${text}" is not the uuid of a resource.`);
  return uuid;
}

/** Whether a text is an existing date: 2026-02-30 is not, though `Date.parse` alone reads it as a day in March. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}
