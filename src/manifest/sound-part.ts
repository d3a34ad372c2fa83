import type { Path } from "./path.ts";
import type { Manifest } from "./schema.ts";

/**
 * A manifest without the entries that break a rule (a variable, an add-on, a script …), so that the rest, which
 * conforms to its type, can still be checked. Elements keep their index, so an array may have gaps.
 */
export function soundPart(value: unknown, broken: readonly Path[]): Manifest {
  if (broken.some((path) => path.length === 0)) return {};
  const rest = structuredClone(value);
  for (const path of broken) remove(rest, entryOf(path));
  return rest as Manifest;
}

function entryOf(path: Path): Path {
  return path.slice(0, path[0] === "environments" ? 4 : 2);
}

function remove(from: unknown, [step, ...rest]: Path): void {
  if (typeof from !== "object" || from === null || step === undefined) return;
  if (rest.length === 0) Reflect.deleteProperty(from, step);
  else remove((from as Record<PropertyKey, unknown>)[step], rest);
}
