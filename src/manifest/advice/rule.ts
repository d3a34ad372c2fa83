import type { Path } from "../path.ts";
import type { ManifestKeys } from "../schema.ts";

/** What a person should look at in an app's keys, or in those of an environment: `path` begins there. */
export interface Advice {
  path: Path;
  message: string;
  /** True of a sentence that need not be told again of each environment. */
  isSaidOnce?: boolean;
}

/** Looks at one matter. Arrays may have gaps where a broken element was taken out: flatMap leaves them out. */
export type Rule = (keys: ManifestKeys) => readonly Advice[];
