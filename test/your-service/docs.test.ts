import { existsSync, readFileSync } from "node:fs";
import { excerptsIn, isIn } from "../support/excerpts.ts";

// What docs/ says of the sample. Yours will differ: delete this file with the sample.
const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

it("the first steps of docs/make-it-yours.md change lines that the sample has", () => {
  const sample = read("src/your-service/plans.ts") + read("src/your-service/index.ts");
  const changed = [...read("docs/make-it-yours.md").matchAll(/^ {3}- {1,4}(.+)$/gm)].map(([, line]) => line!);
  expect(changed.filter((line) => /[;,]$/.test(line))).toHaveLength(3);
  for (const line of changed) expect(sample).toContain(line.trim());
});

it("the files and excerpts of the sample in docs/ are there", () => {
  for (const page of ["docs/make-it-yours.md", "docs/test-it.md"]) {
    for (const excerpt of excerptsIn(read(page)))
      expect([excerpt.file, isIn(read(excerpt.file), excerpt)]).toEqual([excerpt.file, true]);
    for (const [, file] of read(page).matchAll(/`((?:src|test)\/your-service\/[\w./-]*)`/g))
      expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(true);
  }
});
