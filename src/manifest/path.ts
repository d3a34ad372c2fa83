/** The way to a value in a JSON document, from its top: names of members and indexes of elements. */
export type Path = readonly PropertyKey[];

/** The same as a JSON pointer (RFC 6901). The whole document is "". */
export function pointerTo(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
