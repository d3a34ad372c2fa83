import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { NamedTest } from "./mutant.ts";

/** `not run`: no test of that title was found, or its file did not load, or a hook at the top of the file failed. */
export type Verdict = "passed" | "failed" | "not run";

const LONGEST_MS = 180_000;
/** A broken promise may show as a test that hangs. */
const LONGEST_TEST_MS = 30_000;
/** A test of nothing: it fails where the set-up does, which is a fault that the named test did not find. */
const STANDS = "the set-up of this file stands";

/** Runs the tests of one title in one file of `folder`, a copy of the project, to which it adds a line of its own. */
export function runTest(folder: string, { file, title }: NamedTest): Verdict {
  const where = path.join(folder, file);
  writeFileSync(where, `it(${JSON.stringify(STANDS)}, () => undefined);\n${readFileSync(where, "utf8")}`);
  const literally = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const jest = path.join("node_modules", "jest", "bin", "jest.js");
  const { stdout } = spawnSync(
    process.execPath,
    ["--experimental-vm-modules", "--no-warnings", "--liftoff-only", jest, "--json", "--forceExit", `--testTimeout=${LONGEST_TEST_MS}`, "--runTestsByPath", file, "-t", `^${STANDS}$|${literally}`], // prettier-ignore
    {
      cwd: folder,
      encoding: "utf8",
      timeout: LONGEST_MS,
      maxBuffer: 64 * 1024 * 1024,
      killSignal: "SIGKILL",
    },
  );
  const { testResults } = JSON.parse(stdout || "{}") as { testResults?: { assertionResults: Test[] }[] };
  const tests = testResults?.[0]?.assertionResults ?? [];
  const verdicts = (isOurs: boolean) =>
    tests.filter((test) => (test.title === STANDS) === isOurs).map(({ status }) => status);
  if (verdicts(true).join() !== "passed") return "not run";
  if (verdicts(false).includes("failed")) return "failed";
  return verdicts(false).includes("passed") ? "passed" : "not run";
}

interface Test {
  title: string;
  status: string;
}
