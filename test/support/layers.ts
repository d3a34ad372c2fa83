/**
 * The layers of src/, the ground first: no file imports, at run time, from a layer above its own. A room is a folder or
 * a file of src/; the states of resources and credentials are data, and one room. Types may be imported from anywhere, as
 * long as no circle comes of it.
 */
const LAYERS: readonly (readonly string[])[] = [
  "amounts context dot-env errors guessable marks offer options pace secret secret-forms signal values version within".split(
    " ",
  ),
  "database http logging manifest parts platform setting vault".split(" "),
  "config environment surroundings your-service".split(" "),
  // The heart, a line each: what stands above uses what stands below.
  ["states"],
  ["work"],
  ["processes"],
  ["ledgers"],
  ["credentials"],
  ["resources"],
  ["metrics", "pages", "partner-api"],
  ["extend"],
  ["people", "trace"],
  ["app", "jobs"],
  ["open-context"],
  ["kit", "operator", "process", "website"],
  ["web", "worker"],
];

/** The folder of a file below src/, or its own name. */
export function roomOf(file: string): string {
  if (["src/resources/states.ts", "src/credentials/states.ts"].includes(file)) return "states";
  const [, first = ""] = file.split("/");
  return first.replace(/\.tsx?$/, "");
}

/** The place of a file's room among the layers, the ground being 0; -1: it is in none. */
export function layerOf(file: string): number {
  return LAYERS.findIndex((rooms) => rooms.includes(roomOf(file)));
}
