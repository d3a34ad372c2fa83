// The version stands in package.json; wherever else it stands, it is the same.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { kit } from "../support/kit.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const versionOf = (file: string) => (JSON.parse(read(file)) as { version: string }).version;
const version = versionOf("package.json");

it("the packages and the lock file have the version of the kit", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { version: string }>;
  };
  for (const folder of ["packages/sandbox", "packages/conformance"])
    expect([folder, versionOf(`${folder}/package.json`), packages[folder]!.version]).toEqual([folder, version, version]); // prettier-ignore
});

it("kit --version says it", async () => {
  expect((await kit({}, ["--version"])).stdout).toContain(`Version ${version},`);
});

it("pages name archives and actions of this version", () => {
  for (const folder of ["packages/sandbox", "packages/conformance"]) {
    const named = read(`${folder}/README.md`).match(
      /(?<=addon-(partner|platform)-\w+-|kit@v)\d+\.\d+\.\d+/g,
    )!;
    expect([...new Set(named)]).toEqual([version]);
  }
});

it("the changelog has what is unreleased first, and a chapter of the version, which can be released", () => {
  const chapters = read("CHANGELOG.md").match(/^## .*/gm)!;
  expect(chapters[0]).toBe("## Unreleased");
  const notes = (tag: string) => spawnSync(process.execPath, ["workshop/release-notes.mjs", tag], { cwd: root, encoding: "utf8" }); // prettier-ignore
  const { status, stdout } = notes(`v${version}`);
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("The first release."),
  });
  expect(stdout.split("\n").length).toBeLessThanOrEqual(40);
  expect(notes("v9.9.9")).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("v9.9.9") });
});
