/** The path to a value in a JSON document, from its root: member names and element indexes. */
export type Path = readonly PropertyKey[];

/** The path as a JSON pointer (RFC 6901). The whole document is "". */
export function pointerTo(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
