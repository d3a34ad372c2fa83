import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readMutant } from "../../workshop/mutants/mutant.ts";

// Each patch of workshop/mutants breaks one promise on purpose. A change of the code that it breaks makes it stale: here
// it is named at once. (test/chaos/mutants.test.ts has git apply it; `npm run mutants` runs it.)

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const patches = readdirSync(path.join(root, "workshop/mutants")).filter((name) => name.endsWith(".patch"));

/** The lines that a hunk expects, by file. */
function expectedBy(diff: string): [file: string, lines: string][] {
  return diff.split(/^--- a\//m).flatMap((part) => {
    const [head = "", ...hunks] = part.split(/^@@.*@@.*\n/m);
    const file = head.split("\n")[0]!;
    return hunks.map((hunk): [string, string] => {
      const before = hunk.split("\n").filter((line) => /^[ -]/.test(line) && !line.startsWith("--- "));
      return [file, before.map((line) => line.slice(1)).join("\n")];
    });
  });
}

it.each(patches)("the code that %s breaks is as the patch expects it", (patch) => {
  const { diff } = readMutant(patch.replace(".patch", ""), read(`workshop/mutants/${patch}`));
  const expected = expectedBy(diff);
  expect(expected.length).toBeGreaterThan(0);
  for (const [file, lines] of expected)
    expect({ file, code: read(file) }).toMatchObject({ file, code: expect.stringContaining(lines) });
});
