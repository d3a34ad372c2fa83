import { readFileSync } from "node:fs";
import type { Planted } from "./faults.ts";

const EXAMPLE = new URL("../../packages/conformance/examples/python/partner.py", import.meta.url);

/** The example with this fault. Throws if a text that is to be replaced does not occur once. */
export function plant({ what, changes }: Pick<Planted, "what" | "changes">): string {
  return changes.reduce(
    (program, [text, by]) => {
      const parts = program.split(text);
      if (parts.length !== 2)
        throw new Error(`To plant "${what}", this must occur once, not ${parts.length - 1} times: ${text}`);
      return parts.join(by);
    },
    readFileSync(EXAMPLE, "utf8"),
  );
}
