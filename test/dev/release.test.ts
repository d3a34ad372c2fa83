// npm run release, in a small repository of its own.

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("../../dev/release.ts", import.meta.url));
const TSX = import.meta.resolve("tsx");
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n- Pots are glazed.\n\n## 0.9.10 - 2026-01-31\n\n- Pots.\n";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "release of a kit-"));
  put("package.json", JSON.stringify({ name: "a-kit", version: "0.9.10" }));
  const packages = { "": { name: "a-kit", version: "0.9.10" } };
  put(
    "package-lock.json",
    JSON.stringify({ name: "a-kit", version: "0.9.10", lockfileVersion: 3, packages }),
  );
  put("CHANGELOG.md", CHANGELOG);
  git("init -q");
  commitAll();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const put = (file: string, text: string) => writeFileSync(path.join(folder, file), text);
const read = (file: string) => readFileSync(path.join(folder, file), "utf8");
const json = (file: string): unknown => JSON.parse(read(file));

function run(program: string, words: string[]) {
  const identity = { NAME: "a", EMAIL: "a@example.com" };
  const who = Object.entries(identity).flatMap(([name, value]) =>
    ["AUTHOR", "COMMITTER"].map((role) => [`GIT_${role}_${name}`, value]),
  );
  const { PATH } = process.env;
  const env = { PATH, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", ...Object.fromEntries(who) };
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, env, encoding: "utf8" });
  return { code: status, stdout: stdout.trim(), stderr: stderr.trim() };
}
const git = (words: string) => run("git", words.split(" ")).stdout;
const release = (...words: string[]) => run(process.execPath, ["--import", TSX, SCRIPT, ...words]);

function commitAll(): void {
  git("add -A");
  git("commit -q -m change");
}

describe("npm run release", () => {
  it("gives the version, the date and the tag", () => {
    const { code, stdout } = release("0.10.0", "--check", "git status");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("v0.10.0") });
    expect(json("package.json")).toMatchObject({ version: "0.10.0" });
    expect(json("package-lock.json")).toMatchObject({
      ...{ version: "0.10.0", packages: { "": { version: "0.10.0" } } },
    });
    const released = /^## 0\.10\.0 - \d{4}-\d\d-\d\d$/m;
    expect(read("CHANGELOG.md")).toMatch(released);
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
    ["the same version", { words: ["0.9.10"], says: /not newer than 0\.9\.10/ }],
    ["an older version", { words: ["0.9.9"], says: /not newer/ }],
    ["no version", { words: [], code: 2, says: /which version/ }],
    ["a word for a version", { words: ["minor"], code: 2, says: /which version/ }],
    ["a tag that exists", { before: () => git("tag v0.10.0"), says: /The tag v0\.10\.0 exists/ }],
    [
      "nothing to release",
      {
        before: () => {
          put("CHANGELOG.md", CHANGELOG.replace("- Pots are glazed.\n", ""));
          commitAll();
        },
        says: /lists nothing/,
      },
    ],
  ])(
    "refuses %s, and changes nothing",
    (_, { words = ["0.10.0"], code = 1, says, before = () => undefined }) => {
      before();
      const [head, tags] = [git("rev-parse HEAD"), git("tag")];
      expect(release("--check", "true", ...words)).toMatchObject({
        code,
        stderr: expect.stringMatching(says),
      });
      expect([git("rev-parse HEAD"), git("tag"), json("package.json")]).toEqual([
        ...[head, tags, expect.objectContaining({ version: "0.9.10" })],
      ]);
      expect(git("diff")).toBe("");
    },
  );
});
