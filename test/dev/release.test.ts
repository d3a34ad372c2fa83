// npm run release, in a small repository of its own.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { program } from "../support/program.ts";

const CHANGELOG = "# Changelog\n\n## Unreleased\n\n- Pots are glazed.\n\n## 0.9.10 - 2026-01-31\n\n- Pots.\n";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "release of a kit-"));
  const kit = { name: "a-kit", version: "0.9.10" };
  put("package.json", JSON.stringify(kit));
  put("package-lock.json", JSON.stringify({ ...kit, lockfileVersion: 3, packages: { "": kit } }));
  put("CHANGELOG.md", CHANGELOG);
  git("init -q");
  commitAll();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const put = (file: string, text: string) => writeFileSync(path.join(folder, file), text);
const read = (file: string) => readFileSync(path.join(folder, file), "utf8");
const json = (file: string): unknown => JSON.parse(read(file));

function run(command: string, words: string[]) {
  const who = (role: string) => ({ [`GIT_${role}_NAME`]: "a", [`GIT_${role}_EMAIL`]: "a@example.com" });
  const alone = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
  const env = { PATH: process.env["PATH"], ...alone, ...who("AUTHOR"), ...who("COMMITTER") };
  const { status, stdout, stderr } = spawnSync(command, words, { cwd: folder, env, encoding: "utf8" });
  return { code: status, stdout: stdout.trim(), stderr: stderr.trim() };
}
const git = (words: string) => run("git", words.split(" ")).stdout;
const release = (...words: string[]) => run(process.execPath, [program("dev/release.ts"), ...words]);

function commitAll(): void {
  git("add -A");
  git("commit -q -m change");
}

it("npm run release gives the version, the date and the tag", () => {
  const { code, stdout } = release("0.10.0", "--check", "git status");
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("v0.10.0") });
  for (const file of ["package.json", "package-lock.json"])
    expect(json(file)).toMatchObject({ version: "0.10.0" });
  const released = /^## 0\.10\.0 - \d{4}-\d\d-\d\d$/m;
  expect(read("CHANGELOG.md").replace(released, "## THE RELEASE")).toBe(
    CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n## THE RELEASE\n"),
  );
  expect(git("status --porcelain")).toBe("");
  expect(git("log -1 --format=%s v0.10.0")).toBe("Release 0.10.0");
  expect(git("cat-file -t v0.10.0")).toBe("tag");
  // The next one needs an entry first.
  expect(release("0.11.0", "--check", "true")).toMatchObject({ code: 1 });
});

it.each<[string, { words?: string[]; code?: number; says: RegExp; before?: () => void }]>([
  ["a change", { before: () => put("new.txt", ""), says: /new\.txt/ }],
  ["failing tests", { words: ["0.10.0", "--check", "exit 3"], says: /exit 3 failed/ }],
  ["tests that change files", { words: ["0.10.0", "--check", "touch left"], says: /left$/ }],
  ["a version that is not newer", { words: ["0.9.9"], says: /not newer than 0\.9\.10/ }],
  ["a word for a version", { words: ["minor"], code: 2, says: /which version/ }],
  ["a tag that exists", { before: () => git("tag v0.10.0"), says: /The tag v0\.10\.0 exists/ }],
])("npm run release refuses %s, and changes nothing", (_, { words = ["0.10.0"], code = 1, says, before }) => {
  before?.();
  const [head, tags] = [git("rev-parse HEAD"), git("tag")];
  expect(release("--check", "true", ...words)).toMatchObject({ code, stderr: expect.stringMatching(says) });
  expect([git("rev-parse HEAD"), git("tag"), git("diff")]).toEqual([head, tags, ""]);
});
