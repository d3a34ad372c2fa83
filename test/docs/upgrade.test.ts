// The procedure of docs/upgrade.md, run with its own git commands in a temporary folder: a small kit and a fork of it.

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const page = readFileSync(new URL("../../docs/upgrade.md", import.meta.url), "utf8");

/** The git commands of each code block below a heading of the page. */
function blocksBelow(heading: string): string[] {
  const part = page.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return [...part.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) =>
    block!
      .split("\n")
      .filter((line) => line.startsWith("git "))
      .join("\n"),
  );
}

const [once] = blocksBelow("Once") as [string];
const [merge, keepYours, commit] = blocksBelow("Each time") as [string, string, string];

/** A file's lines, far enough apart for git to merge two changes. */
const lines = (...them: string[]) => them.map((line) => `${line}\n`).join("\n\n\n");

const KIT = {
  "CHANGELOG.md": "# Changelog\n",
  "README.md": "# The kit\n",
  "app.json": lines("{", '"env": {},', '"formation": {},', '"addons": []', "}"),
  "src/app.ts": "export const app = 1;\n",
  "src/your-service/index.ts": "export const sample = 1;\n",
  "src/your-service/settings.ts": "export const yourSettings = {};\n",
  "src/your-service/customer-page.tsx": "export const Page = 1;\n",
  "test/your-service/sample.test.ts": "it.todo('sells');\n",
  "prisma/migrations/1/migration.sql": "CREATE TABLE one ();\n",
};
/** A new release of the kit, which also changes the sample, in its middle and at its edges. */
const LATER = {
  "CHANGELOG.md": "# Changelog\n\nWhat a fork must know.\n",
  "README.md": "# The kit, second edition\n",
  "app.json": KIT["app.json"].replace('"formation": {}', '"formation": { "web": {} }'),
  "src/app.ts": "export const app = 2;\n",
  "src/metrics.ts": "export const metrics = 1;\n",
  "src/your-service/index.ts": "export const sample = 2;\n",
  "src/your-service/customer-page.tsx": "export const Page = 2;\n",
  "src/your-service/usage.ts": "export const usage = 1;\n",
  "test/your-service/sample.test.ts": "it.todo('sells more');\n",
  "prisma/migrations/2/migration.sql": "CREATE TABLE two ();\n",
};
/** A fork with its own service and settings, which has removed parts of the sample. */
const FORK = {
  "app.json": KIT["app.json"].replace('"env": {}', '"env": { "DRAWERS": {} }'),
  "src/your-service/index.ts": "export const drawers = 1;\n",
  "src/your-service/drawers.ts": "export const drawer = 1;\n",
  "src/your-service/customer-page.tsx": null,
  "test/your-service/sample.test.ts": null,
  "test/your-service/drawers.test.ts": "it.todo('opens');\n",
};
/** The files that stay as in the fork, and those that come from the kit. */
const YOURS = "src/your-service test/your-service";
const THEIRS = "CHANGELOG.md src/app.ts src/metrics.ts prisma";

let folder: string;
let kit: string;
let fork: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "upgrade-"));
  [kit, fork] = [path.join(folder, "kit"), path.join(folder, "fork")];
  await mkdir(kit);
  git(kit, "git init -q -b main");
  await change(kit, KIT);
  git(folder, "git clone -q kit fork");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A shell for the page's commands, without this machine's git settings. */
function shell(where: string, script: string) {
  const who = (role: string) => ({
    [`GIT_${role}_NAME`]: "A fork",
    [`GIT_${role}_EMAIL`]: "fork@example.com",
  });
  return spawnSync("sh", ["-c", script], {
    env: {
      ...{ PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1", GIT_EDITOR: "true" },
      ...who("AUTHOR"),
      ...who("COMMITTER"),
    },
    ...{ cwd: where, encoding: "utf8" },
  });
}

/** The same, where each line must succeed; returns the output. */
function git(where: string, script: string): string {
  const { status, stdout, stderr } = shell(where, `set -e\n${script}`);
  if (status !== 0) throw new Error(`${script}\n${stdout}${stderr}`);
  return stdout.trim();
}

/** Writes these files, deletes those that are null, and commits. */
async function change(where: string, files: Record<string, string | null>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(where, name);
    await mkdir(path.dirname(file), { recursive: true });
    await (text === null ? rm(file) : writeFile(file, text));
  }
  git(where, "git add -A && git commit -q -m change");
}

/** The page's commands up to the point at which a person checks what is left. */
async function upgraded(yours: Record<string, string | null>, answer = keepYours): Promise<string> {
  await change(fork, yours);
  const before = git(fork, "git rev-parse HEAD");
  git(fork, once.replace("ADDRESS-OF-THE-KIT", kit));
  await change(kit, LATER);
  git(kit, "git tag -a v0.2.0 -m 0.2.0");
  // What is not released yet is not merged.
  await change(kit, { "src/app.ts": "unfinished" });
  // Stopping at conflicts is no failure.
  const said = shell(fork, merge);
  expect(said.stdout).toMatch(/^v0\.2\.0\n[^]*\+What a fork must know\./);
  expect(git(fork, "git branch --show-current")).toBe("upgrade");
  // Nor is a line that finds nothing to restore.
  shell(fork, answer);
  return before;
}

const conflicts = () => git(fork, "git diff --name-only --diff-filter=U");
const differing = (from: string, what: string) => git(fork, `git diff --name-only ${from} -- ${what}`);

describe("an upgrade by docs/upgrade.md", () => {
  it("merges without conflicts in a fork that changed only its own files, and keeps both sides", async () => {
    const before = await upgraded(FORK);
    expect(conflicts()).toBe("");
    git(fork, commit);
    expect(differing(before, YOURS)).toBe("");
    expect(differing("v0.2.0", THEIRS)).toBe("");
    expect(readFileSync(path.join(fork, "app.json"), "utf8")).toMatch(/"DRAWERS"[^]*"web"/);
    expect(git(fork, "git status --porcelain")).toBe("");
    expect(git(fork, "git rev-list --parents -1 HEAD").split(" ")).toHaveLength(3);
    // The next merge has nothing to do.
    expect(git(fork, "git merge v0.2.0")).toBe("Already up to date.");
  });

  it("needs the commands that keep the own files of the fork: without them the sample causes conflicts", async () => {
    await upgraded(FORK, "true");
    expect(conflicts().split("\n")).toEqual([
      "src/your-service/customer-page.tsx",
      "src/your-service/index.ts",
      "test/your-service/sample.test.ts",
    ]);
    expect(existsSync(path.join(fork, "src/your-service/usage.ts"))).toBe(true);
  });

  it("leaves conflicts in other files that both sides changed", async () => {
    await upgraded({ ...FORK, "README.md": "# Drawers\n" });
    expect(conflicts()).toBe("README.md");
    git(fork, `git checkout -q --ours README.md\ngit add README.md\n${commit}`);
    expect(readFileSync(path.join(fork, "README.md"), "utf8")).toBe("# Drawers\n");
  });

  it("works for a fork without test/your-service/", async () => {
    const { "test/your-service/drawers.test.ts": _, ...none } = FORK;
    const before = await upgraded(none);
    expect(conflicts()).toBe("");
    git(fork, commit);
    expect(differing(before, YOURS)).toBe("");
  });

  it("shows a file of the kit's sample that the fork lacks", async () => {
    await upgraded(FORK);
    const [show] = /git show v0\.2\.0:\S+(?=`)/.exec(page)!;
    expect(git(fork, show)).toBe("export const yourSettings = {};");
  });
});

describe("undoing an upgrade by docs/upgrade.md", () => {
  it("before the commit restores the fork's files", async () => {
    const before = await upgraded(FORK);
    git(fork, "git merge --abort");
    expect(git(fork, "git rev-parse HEAD")).toBe(before);
    expect(git(fork, "git status --porcelain")).toBe("");
  });

  it("after the commit restores the fork's files; reverting the revert restores the upgrade", async () => {
    const before = await upgraded(FORK);
    git(fork, commit);
    const merged = git(fork, "git rev-parse HEAD");
    const [revert] = /git revert -m 1 MERGE/.exec(page)!;
    git(fork, revert.replace("MERGE", merged));
    expect(differing(before, ".")).toBe("");
    // A merge does not restore what was reverted.
    expect(git(fork, "git merge v0.2.0")).toBe("Already up to date.");
    git(fork, "git revert HEAD");
    expect(differing(merged, ".")).toBe("");
  });
});
