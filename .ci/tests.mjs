import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";

// node .ci/tests.mjs REPORT SCRIPT [what jest takes …]: runs an npm script that ends in jest ("test", "jest") and ends
// with "Counted: N passed, N failed".
//
// A file in which something failed is tried once more, alone in a fresh process, and then its second result counts: on a
// shared machine that stands still for seconds, now and then a test meets a time-out that no fault of ours explains.
// The first failure is printed in full all the same, and named once more at the end, so that it can be mended. When
// many files fail, that is no accident, and nothing is repeated.
const MOST_FILES_AGAIN = 4;
const [report, script, ...given] = process.argv.slice(2);

const first = run(script, given);
if (first === null) {
  say("Counted: 0 passed, 1 failed\n");
  process.exit(1);
}
const failed = first.filter(hasFailed);
const isRepeated = failed.length > 0 && failed.length <= MOST_FILES_AGAIN;
if (isRepeated) say(`\n== FAILED, AND TRIED ONCE MORE:${named(failed)}\n`);
const second = isRepeated
  ? (run("jest", ["--runInBand", "--runTestsByPath", ...failed.map(({ name }) => name)]) ?? failed)
  : failed;

const results = [...first.filter((file) => !hasFailed(file)), ...second];
const passed = sum(results, (file) => count(file, "passed"));
const failures = sum(results, failuresOf);
if (isRepeated && failures === 0) say(`\n== FAILED AT FIRST, AND PASSED ALONE:${named(failed)}\n`);
say(`Counted: ${passed} passed, ${failures} failed\n`);
process.exitCode = failures === 0 && passed > 0 ? 0 : 1;

/** The results of each file, or null when the script ended before any test: by types, say, or by lint. */
function run(name, words) {
  rmSync(report, { force: true });
  const flags = ["run", "--silent", name, "--", ...words, "--json", `--outputFile=${report}`];
  spawnSync("npm", flags, { stdio: ["ignore", "inherit", "inherit"] });
  return existsSync(report) ? JSON.parse(readFileSync(report, "utf8")).testResults : null;
}

function hasFailed(file) {
  return file.status === "failed";
}

/** A file that does not even load counts as one failure. */
function failuresOf(file) {
  return hasFailed(file) ? Math.max(count(file, "failed"), 1) : 0;
}

function count(file, status) {
  return file.assertionResults.filter((test) => test.status === status).length;
}

function named(files) {
  const lines = files.flatMap(({ name, assertionResults }) => [
    path.relative(process.cwd(), name),
    ...assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => `  ✕ ${fullName}`),
  ]);
  return lines.map((line) => `\n   ${line}`).join("");
}

function sum(list, numberOf) {
  return list.reduce((total, each) => total + numberOf(each), 0);
}

function say(text) {
  process.stdout.write(text);
}
