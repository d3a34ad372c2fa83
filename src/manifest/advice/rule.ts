import type { Path } from "../path.ts";
import type { ManifestKeys } from "../schema.ts";

/** A warning about an app's keys, or about those of an environment: `path` starts from there. */
export interface Advice {
  path: Path;
  message: string;
  /** True if the sentence need not be repeated for each environment. */
  isSaidOnce?: boolean;
}

/** One check. Arrays may have gaps where a broken element was removed (see `soundPart`); flatMap skips them. */
export type Rule = (keys: ManifestKeys) => readonly Advice[];
