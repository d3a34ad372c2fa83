import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { readMutant } from "../../workshop/mutants/mutant.ts";
import { runTest } from "../../workshop/mutants/run-test.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const patches = readdirSync(path.join(root, "workshop/mutants")).filter((name) => name.endsWith(".patch"));
const mutantOf = (patch: string) =>
  readMutant(patch.replace(".patch", ""), readFileSync(path.join(root, "workshop/mutants", patch), "utf8"));
const hasGit = spawnSync("git", ["--version"]).status === 0;

describe("the mutants", () => {
  it("are the eighteen that the tests must detect", () => {
    const numbers = Array.from({ length: 18 }, (_, index) => `M${String(index + 1).padStart(2, "0")}`);
    expect(patches.map((name) => name.slice(0, 3))).toEqual(numbers);
  });

  it.each(patches)("%s names a test that exists", (patch) => {
    const { file, title } = mutantOf(patch).test;
    expect(readFileSync(path.join(root, file), "utf8")).toContain(title);
  });

  (hasGit ? it : it.skip).each(patches)("%s still applies to the code", (patch) => {
    const { diff } = mutantOf(patch);
    const { stderr } = spawnSync("git", ["apply", "--check", "-"], {
      cwd: root,
      input: diff,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
  });
});

describe("running a named test", () => {
  const fails = "throw new Error('noticed');";
  it.each([
    ["passes", "", "", "passed"],
    ["fails", "", fails, "failed"],
    ["says nothing where a hook of its file fails", fails, "", "not run"],
  ])("%s", (_, inHook, inTest, verdict) => {
    const folder = mkdtempSync(path.join(tmpdir(), "named-test-"));
    const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
    try {
      symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
      write("package.json", `{"type":"module"}`);
      write("jest.config.js", "export default { transform: {} };");
      write("a.test.js", `beforeAll(() => { ${inHook} }); it("named (here)", () => { ${inTest} });`);
      expect(runTest(folder, { file: "a.test.js", title: "named (here)" })).toBe(verdict);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

it("an unknown mutant is an error", () => {
  const run = spawnSync(
    process.execPath,
    ["--import", "tsx", "workshop/mutants/run.ts", "M02", "M99", "m03"],
    {
      ...{ cwd: root, encoding: "utf8", env: { PATH: process.env["PATH"] } },
    },
  );
  expect(run).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringContaining("no mutant M99, m03."),
  });
});
