import type { Path } from "./path.ts";

/** An error breaks a rule of the platform's document. A warning is something a person should look at. */
export type Severity = "error" | "warning";

/** What is to be said about one place of a manifest, in a sentence for a person. No value of the manifest is repeated. */
export interface Finding {
  path: Path;
  severity: Severity;
  message: string;
}
