/** The path to a value in a JSON document, from its root: member names and element indexes. */
export type Path = readonly PropertyKey[];

/** An error breaks a rule of the platform's document. A warning is worth a person's attention. */
export type Severity = "error" | "warning";

/** A remark on one place of a manifest, as a sentence for a person. It never repeats a value of the manifest. */
export interface Finding {
  path: Path;
  severity: Severity;
  message: string;
}

export function warning(path: Path, message: string): Finding {
  return { path, severity: "warning", message };
}
