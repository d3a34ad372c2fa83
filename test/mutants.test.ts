import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { readMutant } from "../mutants/mutant.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const patches = readdirSync(path.join(root, "mutants")).filter((name) => name.endsWith(".patch"));
const mutantOf = (patch: string) =>
  readMutant(patch.replace(".patch", ""), readFileSync(path.join(root, "mutants", patch), "utf8"));
const hasGit = spawnSync("git", ["--version"]).status === 0;

describe("the mutants", () => {
  it("are the eighteen that the suite must notice", () => {
    const numbers = Array.from({ length: 18 }, (_, index) => `M${String(index + 1).padStart(2, "0")}`);
    expect(patches.map((name) => name.slice(0, 3))).toEqual(numbers);
  });

  it.each(patches)("%s names a test that exists", (patch) => {
    const { file, title } = mutantOf(patch).test;
    expect(readFileSync(path.join(root, file), "utf8")).toContain(title);
  });

  (hasGit ? it : it.skip).each(patches)("%s still fits the code", (patch) => {
    const { diff } = mutantOf(patch);
    const { stderr } = spawnSync("git", ["apply", "--check", "-"], {
      cwd: root,
      input: diff,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
  });
});
