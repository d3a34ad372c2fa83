// npm run release -- 0.2.0: gives what "Unreleased" in CHANGELOG.md lists a version and a date, commits that, and tags it.
// Pushes nothing. Refuses (exit code 1, nothing changed) a tree with changes or failing tests, a version that is not
// newer, and a release without an entry in the CHANGELOG.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

const HEAD = "\n## Unreleased\n";
const RELEASED = ["package.json", "package-lock.json", "CHANGELOG.md"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: "string", default: "npm run test:all" } },
});
const [version = ""] = positionals;
if (!/^\d+\.\d+\.\d+$/.test(version) || positionals.length > 1)
  refuse("Say which version: npm run release -- 0.2.0 [--check COMMAND]", 2);
const tag = `v${version}`;

const { version: last } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
if (!isNewer(version, last)) refuse(`${version} is not newer than ${last}.`);
if (git("tag", "--list", tag)) refuse(`The tag ${tag} exists.`);
const [before, after] = readFileSync("CHANGELOG.md", "utf8").split(HEAD);
if (!after?.split("\n## ")[0]!.trim()) refuse('"Unreleased" in CHANGELOG.md lists nothing.');
refuseChanges("Commit or remove these changes first");
if (spawnSync(values.check, { shell: true, stdio: "inherit" }).status !== 0)
  refuse(`${values.check} failed.`);
refuseChanges(`${values.check} has left these changes`);

const day = new Date().toISOString().slice(0, 10);
run("npm", "version", version, "--no-git-tag-version");
writeFileSync("CHANGELOG.md", `${before}${HEAD}\n## ${version} - ${day}\n${after}`);
git("commit", "--quiet", "-m", `Release ${version}`, "--", ...RELEASED);
git("tag", "--annotate", "-m", version, tag);
console.log(`${tag} is tagged. To publish it: git push origin HEAD ${tag}`);

function refuseChanges(words: string): void {
  const changes = git("status", "--porcelain");
  if (changes) refuse(`${words}:\n${changes}`);
}

function isNewer(one: string, other: string): boolean {
  const [a, b] = [one, other].map((each) => each.split(".").map(Number)) as [number[], number[]];
  const at = a.findIndex((number, index) => number !== b[index]);
  return at >= 0 && a[at]! > b[at]!;
}

function git(...words: string[]): string {
  return run("git", ...words);
}

/** What a program prints; the release ends here if it fails. */
function run(program: string, ...words: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: "utf8" });
  if (status !== 0) refuse(`${program} ${words.join(" ")} failed: ${error?.message ?? stderr}`);
  return stdout.trim();
}

function refuse(sentence: string, exitCode = 1): never {
  console.error(sentence);
  process.exit(exitCode);
}
