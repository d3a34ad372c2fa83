/** Something that was found. One that is `ok` and has a `fix` is a warning. */
export interface Finding {
  ok: boolean;
  message: string;
  /** What to do, as a sentence; null if there is nothing to do. */
  fix: string | null;
  /** Of a warning: customers wait for it right now, although no limit of an alert is passed. */
  isNow?: boolean;
  /** The operator's page that says more, by its path below `/operator`. */
  page?: { path: string; name: string };
}

/**
 * How urgent it is. `urgent`: a fault. `now`: customers wait, although no limit of an alert is passed yet. `later`: it can
 * wait until morning. `unknown`: the check could not be made.
 */
export type Level = "urgent" | "now" | "later" | "fine" | "unknown";

export interface Check extends Finding {
  id: string;
  /** What was found if it is more than one: `message` and `fix` have it line by line. */
  found?: Pick<Finding, "message" | "fix">[];
  /** False if the check could not be made; it is then neither `ok` nor a fault. */
  isChecked?: boolean;
}

export function levelOf({ ok, fix, isNow, isChecked = true }: Omit<Check, "id">): Level {
  if (!isChecked) return "unknown";
  if (!ok) return "urgent";
  return isNow ? "now" : fix === null ? "fine" : "later";
}

export const fine = (message: string): Finding => ({ ok: true, message, fix: null });
export const warning = (message: string, fix: string): Finding => ({ ok: true, message, fix });
export const failingNow = (message: string, fix: string): Finding => ({
  ...warning(message, fix),
  isNow: true,
});
export const fault = (message: string, fix: string | null): Finding => ({ ok: false, message, fix });

/** The commands that say more of some resources. */
export const shown = (uuids: readonly string[]): string =>
  uuids.map((uuid) => `kit resources show ${uuid}`).join(" · ");

export const orFine = (found: Finding[], sentence: string): Finding[] =>
  found.length > 0 ? found : [fine(sentence)];

export function joined(found: readonly Finding[]): Omit<Check, "id"> {
  return {
    ok: found.every(({ ok }) => ok),
    message: found.map(({ message }) => message).join("\n"),
    ...(found.some(({ isNow }) => isNow) && { isNow: true }),
    fix: [...new Set(found.flatMap(({ fix }) => fix ?? []))].join("\n") || null,
    ...(found.length > 1 && { found: found.map(({ message, fix }) => ({ message, fix })) }),
  };
}
