import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { wrongCitations } from "../support/cited-tests.ts";
import { testTitles } from "../support/test-titles.ts";

const document = readFileSync(fileURLToPath(new URL("../../docs/reliability.md", import.meta.url)), "utf8");

const rows = [...document.matchAll(/^\| ((?:(?:AU|[A-K])\d+(?:, )?)+) \| (.+) \| (.+) \|$/gm)].map(
  ([, faults, promise, shownBy]) => ({ faults: faults!, promise: promise!, shownBy: shownBy! }),
);

/** The number of faults of each letter; D11 never existed. */
const counts = { A: 20, B: 20, C: 17, D: 15, E: 13, F: 12, G: 7, H: 20, AU: 7, J: 6, K: 3 };
const faults = Object.entries(counts)
  .flatMap(([letter, count]) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`))
  .filter((fault) => fault !== "D11");

describe("docs/reliability.md", () => {
  it("has each of the 139 faults once", () => {
    expect(faults).toHaveLength(139);
    expect(rows.flatMap((row) => row.faults.split(", ")).sort()).toEqual([...faults].sort());
  });

  it("names existing tests, or says that there is none", () => {
    const cited = rows.filter(({ shownBy }) => !shownBy.startsWith("not shown by a test: "));
    const wrong = cited.map(({ faults, shownBy }) => ({ faults, wrong: wrongCitations(shownBy) }));
    expect(wrong.filter((row) => row.wrong.length > 0)).toEqual([]);
  });
});

it("testTitles ignores tests that are skipped", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "titles-"));
  const file = path.join(folder, "a.test.ts");
  writeFileSync(
    file,
    `it("runs"); it.skip("skipped"); it.todo("to do"); it.skip.each([["row"]])("each skipped"); describe.skip("group");
     describe("within", () => { it("in it"); });`,
  );
  const titles = testTitles(file);
  rmSync(folder, { recursive: true });
  expect(titles).toEqual(["runs", "within", "in it"]);
});
