// The procedure of docs/upgrade.md, run with its own git commands in a temporary folder: a small kit and a fork of it.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

const page = readFileSync(new URL("../../docs/upgrade.md", import.meta.url), "utf8");

/** The git commands of each code block below a heading of the page. */
function blocksBelow(heading: string): string[] {
  const part = page.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  const isGit = (line: string) => line.startsWith("git ");
  return [...part.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) =>
    block!.split("\n").filter(isGit).join("\n"),
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
};
/** A fork with its own service and settings, which has removed parts of the sample. */
const FORK = {
  "app.json": KIT["app.json"].replace('"env": {}', '"env": { "DRAWERS": {} }'),
  "src/your-service/index.ts": "export const drawers = 1;\n",
  "src/your-service/customer-page.tsx": null,
  "test/your-service/sample.test.ts": null,
  "test/your-service/drawers.test.ts": "it.todo('opens');\n",
};

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "upgrade-"))));
afterAll(() => rm(folder, { recursive: true }));

/** Runs these lines without this machine's git settings; each must succeed, unless they may stop at conflicts. */
function run(cwd: string, script: string, { mayStop = false } = {}): string {
  const who = (role: string) => ({ [`GIT_${role}_NAME`]: "A", [`GIT_${role}_EMAIL`]: "a@example.com" });
  const alone = { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1", GIT_EDITOR: "true" };
  const env = { ...alone, ...who("AUTHOR"), ...who("COMMITTER") };
  const words = ["-c", mayStop ? script : `set -e\n${script}`];
  const { status, stdout, stderr } = spawnSync("sh", words, { cwd, env, encoding: "utf8" });
  if (status !== 0 && !mayStop) throw new Error(`${script}\n${stdout}${stderr}`);
  return stdout.trim();
}
/** Writes these files, deletes those that are null, and commits. */
async function change(where: string, files: Record<string, string | null>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(where, name);
    await mkdir(path.dirname(file), { recursive: true });
    await (text === null ? rm(file) : writeFile(file, text));
  }
  run(where, "git add -A && git commit -q -m change");
}

it.each([
  ["to a tag", "v0.2.0"],
  ["where there are no tags", "upstream/main"],
])(
  "an upgrade %s merges without conflicts, keeps both sides, and can be undone and redone",
  async (_, to) => {
    const at = path.join(folder, to.replace("/", "-"));
    const [kit, fork] = [path.join(at, "kit"), path.join(at, "fork")];
    const mergeIt = merge.replaceAll("v0.2.0", to);
    const inFork = (script: string) => run(fork, script);
    const differing = (from: string, what: string) => inFork(`git diff --name-only ${from} -- ${what}`);
    await mkdir(kit, { recursive: true });
    run(kit, "git init -q -b main");
    await change(kit, KIT);
    run(at, "git clone -q kit fork");
    await change(fork, FORK);
    const before = inFork("git rev-parse HEAD");
    inFork(once.replace("ADDRESS-OF-THE-KIT", kit));
    await change(kit, LATER);
    if (to === "v0.2.0") {
      run(kit, "git tag -a v0.2.0 -m 0.2.0");
      // What is not released yet is not merged.
      await change(kit, { "src/app.ts": "unfinished" });
    }
    await writeFile(path.join(fork, "src/your-service/index.ts"), "export const unsaved = 1;\n");
    run(fork, mergeIt, { mayStop: true });
    expect(inFork("git diff --name-only && git branch --show-current")).toBe(
      "src/your-service/index.ts\nmain",
    );
    inFork("git stash -q && git stash drop -q");
    const read = run(fork, mergeIt, { mayStop: true });
    expect(read).toMatch(/\+What a fork must know\./);
    expect(read.startsWith("v0.2.0\n")).toBe(to === "v0.2.0");
    run(fork, keepYours, { mayStop: true });
    expect(inFork("git diff --name-only --diff-filter=U")).toBe("");
    inFork(commit);
    expect(differing(before, "src/your-service test/your-service")).toBe("");
    expect(differing(to, "CHANGELOG.md src/app.ts src/metrics.ts")).toBe("");
    expect(readFileSync(path.join(fork, "app.json"), "utf8")).toMatch(/"DRAWERS"[^]*"web"/);
    // The next merge has nothing to do.
    expect(inFork(`git merge ${to}`)).toBe("Already up to date.");
    const [show] = /git show v0\.2\.0:\S+(?=`)/.exec(page)!;
    expect(inFork(show.replace("v0.2.0", to))).toBe("export const yourSettings = {};");

    const merged = inFork("git rev-parse HEAD");
    const [revert] = /git revert -m 1 MERGE/.exec(page)!;
    inFork(revert.replace("MERGE", merged));
    expect(differing(before, ".")).toBe("");
    inFork("git revert HEAD");
    expect(differing(merged, ".")).toBe("");
  },
);
