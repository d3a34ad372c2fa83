import { readdirSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryPostgresql } from "../../dev/postgresql.ts";
import { apply, type Mutant, readMutant } from "./mutant.ts";
import { runTest, type Verdict } from "./run-test.ts";

// The suite is trusted only if it notices when something is broken on purpose. Each patch of this folder breaks one
// promise and names the test that must fail; this applies them one at a time, each to a copy of its own.
// npm run mutants [-- M01 M05 …]

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What the tests read. */
const COPIED = ["src", "test", "packages", "dev", "examples", "prisma", "package.json", "tsconfig.json", "tsconfig.build.json", "prisma.config.ts", "jest.config.js"]; // prettier-ignore

const patches = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".patch"));
const wanted = process.argv.slice(2);
const unknown = wanted.filter((number) => !patches.some((name) => name.startsWith(`${number}-`)));
if (unknown.length > 0) {
  console.error(`There is no mutant ${unknown.join(", ")}. Numbers are written as in M01.`);
  process.exit(2);
}
const mutants = patches
  .filter((name) => wanted.length === 0 || wanted.includes(name.slice(0, 3)))
  .map((name) =>
    readMutant(name.replace(".patch", ""), readFileSync(path.join(import.meta.dirname, name), "utf8")),
  );

// One server for all runs, which find it in their environment.
if (!process.env["TEST_DATABASE_URL"]) process.env["TEST_DATABASE_URL"] = (await temporaryPostgresql()).url;
const survivors: string[] = [];
for (const mutant of mutants) {
  const startedAt = performance.now();
  const outcome = await outcomeOf(mutant);
  if (outcome !== "killed") survivors.push(mutant.name);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    `${outcome.padEnd(8)} ${mutant.name.padEnd(36)} ${String(seconds).padStart(3)} s  ${mutant.why}`,
  );
}
console.log(`\n${mutants.length - survivors.length} of ${mutants.length} mutants killed`);
// Which also ends the server.
process.exit(survivors.length === 0 && mutants.length > 0 ? 0 : 1);

/** `killed`: the test passes on the code as it is, and fails on the broken one. */
async function outcomeOf(mutant: Mutant): Promise<"killed" | "LIVES" | "STALE" | "UNSOUND"> {
  if ((await inCopy((folder) => runTest(folder, mutant.test))) !== "passed") return "UNSOUND";
  const verdict = await inCopy<Verdict | "stale">((folder) =>
    apply(mutant, folder) ? runTest(folder, mutant.test) : "stale",
  );
  if (verdict === "stale") return "STALE";
  // A test file that does not even load says nothing about the promise.
  if (verdict === "not run") return "UNSOUND";
  return verdict === "failed" ? "killed" : "LIVES";
}

async function inCopy<Result>(work: (folder: string) => Result): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), "mutant-"));
  try {
    for (const name of COPIED) await cp(path.join(root, name), path.join(folder, name), { recursive: true });
    await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
    return work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
