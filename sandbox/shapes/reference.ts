import { uuidOf } from "../world/identity.ts";

/** How one object names another: `{id, name}`. */
export function reference({ id, name }: { id: string; name: string }) {
  return { id, name };
}

/** The same for what the platform has but nobody creates here: the same id wherever it is named. */
export function named(kind: string, name: string) {
  return { id: uuidOf(`${kind} ${name}`), name };
}
