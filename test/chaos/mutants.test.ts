import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { readMutant } from "../../workshop/mutants/mutant.ts";
import { runTest } from "../../workshop/mutants/run-test.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const patches = readdirSync(path.join(root, "workshop/mutants")).filter((name) => name.endsWith(".patch"));

// What a mutant names is a part of the patch, and must be there to be run.
it.each(patches)("%s applies to the code, and the test that it names is there", (patch) => {
  const { diff, test } = readMutant(patch.replace(".patch", ""), read(`workshop/mutants/${patch}`));
  const { stderr } = spawnSync("git", ["apply", "--check", "-"], {
    cwd: root,
    input: diff,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect([test.title, read(test.file).includes(test.title)]).toEqual([test.title, true]);
});

it.each([
  ["passed", "", ""],
  ["failed", "", "throw new Error();"],
  ["not run", "throw new Error();", ""],
])("a named test counts as %s", (verdict, inHook, inTest) => {
  const folder = mkdtempSync(path.join(tmpdir(), "named-test-"));
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  write("package.json", `{"type":"module"}`);
  write("jest.config.js", "export default { transform: {} };");
  write("a.test.js", `beforeAll(() => { ${inHook} }); it("named (here)", () => { ${inTest} });`);
  expect(runTest(folder, { file: "a.test.js", title: "named (here)" })).toBe(verdict);
  rmSync(folder, { recursive: true });
});
