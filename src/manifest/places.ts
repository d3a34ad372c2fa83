import { type MemberNode, parse, type ValueNode } from "@humanwhocodes/momoa";

/** Counted from 1, the column in UTF-16 units, as editors do. */
export interface Place {
  line: number;
  column: number;
}

/** The path to a value in a JSON document, from its root: member names and element indexes. */
export type Path = readonly (string | number)[];

export interface Places {
  /** Where the value at `path` begins, or the nearest one around it; of a member of an object, where its name does. */
  of(path: Path): Place;
  /** Members whose object has a later one of the same name, which is the one that counts. */
  doubled: readonly (Place & { path: Path })[];
}

/** Where the values of a JSON text stand; null if it is no JSON, or nests too deeply to be walked. */
export function placesOf(text: string): Places | null {
  try {
    const { body } = parse(text);
    return { of: (path) => placeAt(body, path), doubled: doubledIn(body, []) };
  } catch {
    return null;
  }
}

/** Where a text stops to be JSON; null if the parser does not say. */
export function placeOfMistake(text: string): Place | null {
  try {
    parse(text);
  } catch (error) {
    const { line, column } = error as Partial<Place>;
    if (typeof line === "number" && typeof column === "number") return { line, column };
  }
  return null;
}

const nameOf = ({ name }: MemberNode) => (name.type === "String" ? name.value : name.name);
const startOf = ({ loc: { start } }: MemberNode["name"] | ValueNode): Place => ({
  line: start.line,
  column: start.column,
});

function placeAt(root: ValueNode, path: Path): Place {
  let place = startOf(root);
  let value = root;
  for (const step of path) {
    const member = value.type === "Object" && value.members.findLast((each) => nameOf(each) === step);
    const element = value.type === "Array" && typeof step === "number" && value.elements[step];
    const inner = member || element;
    if (!inner) break;
    place = startOf(member ? member.name : inner.value);
    value = inner.value;
  }
  return place;
}

function doubledIn(value: ValueNode, path: Path): (Place & { path: Path })[] {
  if (value.type === "Array")
    return value.elements.flatMap((each, at) => doubledIn(each.value, [...path, at]));
  if (value.type !== "Object") return [];
  const last = new Map(value.members.map((member) => [nameOf(member), member]));
  return value.members.flatMap((member) => {
    const inner = [...path, nameOf(member)];
    const isDoubled = last.get(nameOf(member)) !== member;
    return isDoubled ? [{ ...startOf(member.name), path: inner }] : doubledIn(member.value, inner);
  });
}
