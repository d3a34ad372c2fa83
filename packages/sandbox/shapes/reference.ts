import { uuidOf } from "../world/identity.ts";

/** A reference to another object: `{id, name}`. */
export function reference({ id, name }: { id: string; name: string }) {
  return { id, name };
}

/** The same for objects that nobody creates here, such as plans and regions; the same name always has the same id. */
export function named(kind: string, name: string) {
  return { id: uuidOf(`${kind} ${name}`), name };
}
